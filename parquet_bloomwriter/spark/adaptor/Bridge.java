package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.internal.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the rules ask of the driver's Python, and what they remember of its answers.
 *
 * Requests and answers are JSON texts. Whatever fails is logged, and the rules leave the plan as it is.
 */
public final class Bridge {
    static final Logger LOG = LoggerFactory.getLogger("bloomwriter");
    static final ObjectMapper JSON = new ObjectMapper();
    private static final int MAX_ROOTS = 64;
    private static final int MAX_KNOWN = 16;

    private volatile Function python;
    /** Whether the rules are there for queries that are traced only. */
    private volatile boolean isForTracing;
    private final ThreadLocal traced = new ThreadLocal();
    private final Map known = new LinkedHashMap(16, 0.75f, true);
    private final Map probes = new LinkedHashMap(16, 0.75f, true);

    /** Ask this from now on: a proxy of a Python object. */
    public void setPython(Function python) {
        this.python = python;
    }

    static ObjectNode request(String question, FileIndex location) {
        ObjectNode request = JSON.createObjectNode();
        request.put("ask", question);
        ArrayNode roots = request.putArray("roots");
        Iterator names = rootsOf(location).iterator();
        while (names.hasNext()) {
            roots.add((String) names.next());
        }
        return request;
    }

    /** The root paths on the local file system, or the folders that they lie in if they are many. */
    static Set rootsOf(FileIndex location) {
        scala.collection.Seq paths = location.rootPaths();
        Set roots = new java.util.LinkedHashSet();
        boolean areMany = paths.length() > MAX_ROOTS;
        for (scala.collection.Iterator i = paths.iterator(); i.hasNext();) {
            Path path = (Path) i.next();
            Path place = areMany && path.getParent() != null ? path.getParent() : path;
            if (isLocal(place)) {
                roots.add(place.toUri().getPath());
            }
        }
        return roots;
    }

    static boolean isLocal(Path path) {
        String scheme = path.toUri().getScheme();
        return scheme == null || scheme.equals("file");
    }

    /** Ask Python. The answer is an object. */
    JsonNode ask(ObjectNode request) throws Exception {
        request.put("traced", this.isTraced());
        return JSON.readTree((String) this.python.apply(request.toString()));
    }

    /** What the text of a setting means: Python knows, and says so if it means nothing. */
    double setting(String name, String text) throws Exception {
        if (text.matches("[0-9]{1,18}")) {
            return Double.parseDouble(text);
        }
        ObjectNode request = JSON.createObjectNode();
        request.put("ask", "setting").put("name", name).put("text", text);
        return this.ask(request).get("value").asDouble();
    }

    /** The files of a snapshot, by what they are known by, with their place in its manifest. */
    synchronized KnownFiles files(String snapshot) throws Exception {
        KnownFiles files = (KnownFiles) this.known.get(snapshot);
        if (files == null) {
            ObjectNode request = JSON.createObjectNode();
            request.put("ask", "files");
            request.put("snapshot", snapshot);
            files = KnownFiles.of(this.ask(request));
            remember(this.known, snapshot, files);
        }
        return files;
    }

    /** The probe of a filter, which executors get once. */
    synchronized SbbfProbe probe(JsonNode filter, org.apache.spark.SparkContext context)
            throws Exception {
        String id = filter.get("id").asText();
        SbbfProbe probe = (SbbfProbe) this.probes.get(id);
        if (probe == null) {
            probe = SbbfProbe.of(filter, context);
            remember(this.probes, id, probe);
        }
        return probe;
    }

    private static void remember(Map map, Object key, Object value) {
        map.put(key, value);
        if (map.size() > MAX_KNOWN) {
            Iterator eldest = map.keySet().iterator();
            eldest.next();
            eldest.remove();
        }
    }

    /** Whether the rules leave all plans as they are, but those that are traced. */
    public void setForTracing(boolean isForTracing) {
        this.isForTracing = isForTracing;
    }

    /** Optimize a query anew, run nothing, and report what the rules decide, for this thread only. */
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

    /** Whether the rules work on what this thread plans. */
    boolean isOn() {
        return !this.isForTracing || this.isTraced();
    }

    /** Report why a rule leaves a relation as it is. */
    void explain(ObjectNode about, String rule, String code, String why) {
        if (this.isTraced()) {
            ObjectNode report = about.deepCopy();
            report.put("rule", rule);
            report.put("code", code);
            report.put("why", why);
            this.report(report);
        }
    }

    /** Tell Python what a rule did or did not do, if it wants to know; nothing depends on it. */
    void report(ObjectNode report) {
        if (!this.isTraced()) {
            return;
        }
        try {
            report.put("ask", "report").put("traced", true);
            this.python.apply(report.toString());
        } catch (Throwable error) {
            LOG.debug("a decision could not be reported", error);
        }
    }

    /** Log in one line, and report, that a rule has left a plan as it was because of an error. */
    void failed(String rule, Throwable error) {
        boolean isOfMachine = error instanceof VirtualMachineError || error instanceof ThreadDeath;
        if (isOfMachine && !(error instanceof StackOverflowError)) { // that is a plan too deep for us
            throw (Error) error;
        }
        String line = String.valueOf(error).split("\n", 2)[0];
        LOG.warn(rule + " left the plan as it is: " + line);
        LOG.debug(rule, error);
        ObjectNode report = JSON.createObjectNode();
        report.put("rule", rule);
        report.put("error", String.valueOf(error));
        this.report(report);
    }
}
