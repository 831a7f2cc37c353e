package bloomwriter;

import bloomwriter.Protocol.FilesAnswer;
import bloomwriter.Protocol.JoinAnswer;
import bloomwriter.Protocol.JoinCandidate;
import bloomwriter.Protocol.JoinFilter;
import bloomwriter.Protocol.JoinFilterAnswer;
import bloomwriter.Protocol.PruneAnswer;
import bloomwriter.Protocol.PrunedIndex;
import bloomwriter.Protocol.Reason;
import bloomwriter.Protocol.SettingAnswer;
import bloomwriter.Protocol.Subject;
import bloomwriter.Protocol.UnchangedAnswer;
import bloomwriter.Protocol.Usage;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.internal.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way from the rules to the driver's Python, and caches of what is used again.
 *
 * Whatever fails is logged, and the rules leave the plan as it is.
 */
public final class Bridge {
    private static final Logger LOG = LoggerFactory.getLogger("bloomwriter");
    /** Entries of each cache. */
    private static final int MAX_KEPT = 16;

    private final Mailbox mailbox = new Mailbox(this);
    /** Whether the rules work only on queries that are traced. */
    private volatile boolean isForTracing;
    /** Set while this thread traces a query. */
    private final ThreadLocal<Boolean> traced = new ThreadLocal<Boolean>();
    private final Answers answers = new Answers();
    /** Files by snapshot. */
    private final Map<String, KnownFiles> files = cache();
    /** Probes by the id and the text of their filter. */
    private final Map<String, SbbfProbe> probes = cache();

    /** Return the mailbox that Python serves. */
    public Mailbox mailbox() {
        return this.mailbox;
    }

    /** Forget all answers that are kept. */
    public synchronized void clear() {
        this.answers.clear();
        this.files.clear();
        this.probes.clear();
    }

    /** Return the indexes that rule out files by a condition. */
    List<PrunedIndex> prune(Subject subject, ObjectNode condition, boolean isCaseSensitive)
            throws Exception {
        ObjectNode request = Protocol.prune(subject, condition, isCaseSensitive);
        return new PruneAnswer(this.askOnce(request)).indexes;
    }

    List<JoinCandidate> join(
            Subject subject, List<String> column, String type, boolean isCaseSensitive)
            throws Exception {
        ObjectNode request = Protocol.join(subject, column, type, isCaseSensitive);
        return new JoinAnswer(this.askOnce(request)).candidates;
    }

    /** Return the filter that an index has for just the files that are read, or null. */
    JoinFilter joinFilter(Subject subject, String type, JoinCandidate candidate, FilesRead read)
            throws Exception {
        ObjectNode request = Protocol.joinFilter(subject, type, candidate, read);
        return new JoinFilterAnswer(this.askOnce(request)).filter;
    }

    /** Return what the text of a setting means. Python logs a text that means nothing. */
    double setting(String name, String text) throws Exception {
        if (text.matches("[0-9]{1,18}")) {
            return Double.parseDouble(text);
        }
        return new SettingAnswer(this.ask(Protocol.setting(name, text))).value;
    }

    /** Return what the text of a flag means, as `setting` does. */
    boolean flag(String name, String text) throws Exception {
        boolean isUsual = text.equals("true") || text.equals("false");
        return isUsual ? text.equals("true") : this.setting(name, text) != 0;
    }

    /** Return the files of a snapshot. */
    synchronized KnownFiles files(String snapshot) throws Exception {
        KnownFiles found = (KnownFiles) this.files.get(snapshot);
        if (found == null) {
            FilesAnswer answer = new FilesAnswer(this.ask(Protocol.files(snapshot)));
            found = KnownFiles.of(answer, this, snapshot);
            keep(this.files, snapshot, found);
        }
        return found;
    }

    /** Return which objects are on their store as a snapshot knows them; bits, as in the protocol. */
    byte[] unchanged(String snapshot, byte[] present) throws Exception {
        return new UnchangedAnswer(this.ask(Protocol.unchanged(snapshot, present))).unchanged;
    }

    /** Return the probe of a filter, which is sent to executors once. */
    synchronized SbbfProbe probe(JoinFilter filter, SparkContext context) throws Exception {
        String key = filter.id + filter.text; // the text names the index
        SbbfProbe found = (SbbfProbe) this.probes.get(key);
        if (found == null) {
            found = SbbfProbe.of(filter, context);
            keep(this.probes, key, found);
        }
        return found;
    }

    /** Ask, unless the query that is being planned has asked the same; a traced query always asks. */
    private JsonNode askOnce(ObjectNode request) throws Exception {
        if (this.isTraced()) {
            return this.ask(request);
        }
        String same = request.put("text", "").toString(); // only a trace shows the text
        JsonNode answer = this.answers.get(same);
        if (answer == null) {
            answer = this.ask(request);
            this.answers.put(same, answer);
        }
        return answer;
    }

    private JsonNode ask(ObjectNode request) throws Exception {
        request.put("traced", this.isTraced());
        return Protocol.parse(this.mailbox.ask(request.toString()));
    }

    private static <V> Map<String, V> cache() {
        return new LinkedHashMap<String, V>(16, 0.75f, true);
    }

    private static <V> void keep(Map<String, V> cache, String key, V value) {
        cache.put(key, value);
        if (cache.size() > MAX_KEPT) {
            Iterator<String> eldest = cache.keySet().iterator();
            eldest.next();
            eldest.remove();
        }
    }

    /** Set whether the rules work only on queries that are traced. */
    public void setForTracing(boolean isForTracing) {
        this.isForTracing = isForTracing;
    }

    /** Optimize a query anew and report what the rules decide about it. The query is not run. */
    public void trace(SessionState state, LogicalPlan analyzed) {
        this.traced.set(Boolean.TRUE);
        try {
            state.executePlan(analyzed, CommandExecutionMode.SKIP()).optimizedPlan();
        } finally {
            this.traced.remove();
        }
    }

    boolean isTraced() {
        return this.traced.get() != null;
    }

    /** Return whether the rules work on what this thread plans. */
    boolean isOn() {
        return !this.isForTracing || this.isTraced();
    }

    /** Report to Python, if the query is traced, that a rule uses indexes. */
    void reportUse(String rule, Subject subject, Usage usage) {
        this.report(rule, subject, usage, null);
    }

    /** Report to Python, if the query is traced, why a rule does not use any index. */
    void explain(String rule, Subject subject, Reason reason) {
        this.report(rule, subject, null, reason);
    }

    /** Report to Python, if the query is traced, what a rule decided. No plan depends on it. */
    void report(String rule, Subject subject, Usage usage, Reason reason) {
        if (!this.isTraced()) {
            return;
        }
        try {
            this.ask(Protocol.report(rule, subject, usage, reason));
        } catch (Throwable error) {
            LOG.debug("a decision could not be reported", error);
        }
    }

    /** Log in one line, and report, that a rule left a plan as it was because of an error. */
    void failed(String rule, Throwable error) {
        boolean isOfMachine = error instanceof VirtualMachineError || error instanceof ThreadDeath;
        if (isOfMachine && !(error instanceof StackOverflowError)) { // a plan too deep for the rules
            throw (Error) error;
        }
        String text = String.valueOf(error);
        LOG.warn(rule + " left the plan as it is: " + text.split("\n", 2)[0]);
        LOG.debug(rule, error);
        this.explain(rule, Subject.of(""), new Reason("INTERNAL_ERROR", text));
    }
}
