package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.Option;
import scala.Tuple8;
import scala.collection.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Drops rows of one side of an equi-join whose key is in no file of the other side.
 *
 * Only of sides whose rows without a match are dropped anyway:
 *
 *     INNER, CROSS, LEFT SEMI             both
 *     LEFT OUTER, LEFT ANTI, EXISTENCE    the right
 *     RIGHT OUTER                         the left
 *
 * and only where Spark is going to shuffle both sides: a broadcast join drops them as cheaply.
 */
public final class JoinBFIndexRule extends Rule {
    static final String NAME = "JoinBFIndexRule";
    private static final int MAX_UNKNOWN = 1000;

    private final Bridge bridge;
    private final String minBytes;
    private final String usualMinBytes;

    /**
     * @param minBytes name of the setting; sides that Spark takes to be smaller are left alone
     * @param usualMinBytes its value where it is not set
     */
    public JoinBFIndexRule(Bridge bridge, String minBytes, String usualMinBytes) {
        this.bridge = bridge;
        this.minBytes = minBytes;
        this.usualMinBytes = usualMinBytes;
    }

    public TreeNode apply(TreeNode plan) {
        if (!this.bridge.isOn()) {
            return plan;
        }
        try {
            return new Filtering(this).ofQuery((LogicalPlan) plan);
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return plan;
        }
    }

    /** The join over fewer rows; the join itself if nothing can be dropped. */
    LogicalPlan filtered(Join join) {
        try {
            Option found = ExtractEquiJoinKeys.unapply(join);
            Sides sides = new Sides(join);
            String problem = found.isEmpty() ? "it has no equality of keys" : sides.problem();
            if (problem != null) {
                this.explain(join, problem);
                return join;
            }
            Tuple8 parts = (Tuple8) found.get();
            List left = Scala.list((Seq) parts._2());
            List right = Scala.list((Seq) parts._3());
            for (int i = 0; i < left.size(); i++) {
                Expression leftKey = ProbePlacement.plain((Expression) left.get(i));
                Expression rightKey = ProbePlacement.plain((Expression) right.get(i));
                if (sides.mayDropRight() && this.isWorthwhile(sides.right)) {
                    sides = this.filtered(sides, leftKey, rightKey, false);
                }
                if (sides.mayDropLeft() && this.isWorthwhile(sides.left)) {
                    sides = this.filtered(sides, rightKey, leftKey, true);
                }
            }
            return sides.join();
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return join;
        }
    }

    private boolean isWorthwhile(LogicalPlan side) throws Exception {
        String least = side.conf().getConfString(this.minBytes, this.usualMinBytes);
        if (side.stats().sizeInBytes().toDouble() >= this.bridge.setting(this.minBytes, least)) {
            return true;
        }
        String size = "one side has an estimated " + side.stats().sizeInBytes() + " bytes";
        this.explain(side, size + ", less than " + this.minBytes);
        return false;
    }

    private void explain(LogicalPlan plan, String why) {
        this.explain(plan, "NOT_ELIGIBLE_JOIN", why);
    }

    private void explain(LogicalPlan plan, String code, String why) {
        ObjectNode about = Bridge.JSON.createObjectNode();
        String text = plan instanceof Join ? plan.simpleString(100) : "";
        this.bridge.explain(about.put("text", text), NAME, code, why);
    }

    /**
     * @param indexedKey of the side whose files are indexed
     * @param key of the side that loses rows
     */
    private Sides filtered(Sides sides, Expression indexedKey, Expression key, boolean dropsLeft)
            throws Exception {
        ColumnLineage lineage = ColumnLineage.of(indexedKey, dropsLeft ? sides.right : sides.left);
        String type = Conditions.nameOf(indexedKey.dataType());
        boolean isSame = indexedKey.dataType().equals(key.dataType());
        if (lineage == null) {
            this.explain(sides.join, indexedKey.sql() + " is no column of files");
            return sides;
        }
        FileIndex all = ((HadoopFsRelation) lineage.leaf.relation()).location();
        String problem = Relations.problem((HadoopFsRelation) lineage.leaf.relation());
        if (problem != null) {
            ObjectNode about = Bridge.request("join", all);
            about.put("text", indexedKey.sql() + " = " + key.sql());
            this.bridge.explain(about, NAME, Relations.UNSUPPORTED, problem);
            return sides;
        }
        FileIndex pinned = Relations.pinned(all);
        boolean isNamed = !lineage.leaf.conf().parquetFieldIdReadEnabled();
        boolean isUsual = type != null && isSame && isNamed;
        if (!isUsual || !ProbePlacement.isCheap(key)) {
            this.explain(sides.join, "keys such as " + key.sql() + " are not looked up");
            return sides;
        }
        ObjectNode request = Bridge.request("join", pinned);
        request.set("column", lineage.path);
        request.put("type", type);
        request.put("case_sensitive", sides.join.conf().caseSensitiveAnalysis());
        request.put("text", indexedKey.sql() + " = " + key.sql());
        JsonNode candidates = this.bridge.ask(request).get("candidates");
        for (int i = 0; i < candidates.size(); i++) {
            JsonNode candidate = (JsonNode) candidates.get(i);
            LocalFiles read = new LocalFiles();
            JsonNode filter = this.filterOf(candidate, pinned, request, read);
            if (filter == null) {
                continue;
            }
            HadoopFsRelation relation = (HadoopFsRelation) lineage.leaf.relation();
            SbbfProbe kept =
                    this.bridge.probe(filter, relation.sparkSession().sparkContext());
            SbbfProbe probe = kept.heeding(read);
            LogicalPlan side = dropsLeft ? sides.left : sides.right;
            if (ProbePlacement.holds(side, probe)) {
                return sides;
            }
            LogicalPlan fewer = ProbePlacement.drop(side, key, probe, filter);
            request.put("rule", NAME);
            request.putArray("indexes").add(candidate.get("name").asText());
            this.bridge.report(request);
            LogicalPlan other = dropsLeft ? sides.right : sides.left;
            if (pinned != all) {
                LogicalRelation fixed = Relations.with(lineage.leaf, pinned);
                other = (LogicalPlan) other.transformUp(new Replacing(lineage.leaf, fixed));
            }
            return dropsLeft ? sides.with(fewer, other) : sides.with(other, fewer);
        }
        return sides;
    }

    /**
     * The filter that an index has for just the files that are read; null if it has none.
     *
     * @param read gets the files that must stay as they are as long as the filter is used
     */
    private JsonNode filterOf(
            JsonNode candidate, FileIndex location, ObjectNode request, LocalFiles read)
            throws Exception {
        String snapshot = candidate.get("snapshot").asText();
        KnownFiles files = this.bridge.files(snapshot);
        boolean isChecked = candidate.get("checked").asBoolean();
        byte[] present = new byte[(files.count + 7) / 8];
        ObjectNode wanted = request.deepCopy();
        wanted.put("ask", "join_filter");
        wanted.set("indexed_column", candidate.get("column"));
        wanted.put("snapshot", snapshot);
        ArrayNode unknown = wanted.putArray("unknown");
        int numUnknown = 0;
        scala.collection.immutable.Seq none = Scala.seq(new ArrayList());
        for (scala.collection.Iterator i = location.listFiles(none, none).iterator(); i.hasNext();) {
            Seq found = ((PartitionDirectory) i.next()).files();
            for (scala.collection.Iterator j = found.iterator(); j.hasNext();) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) j.next();
                Path path = file.getPath();
                long size = file.getLen();
                long modified = file.getModificationTime();
                int place = files.placeOf(path, size, modified);
                boolean isKnown = place >= 0;
                if (isKnown && isChecked) {
                    isKnown = LocalFiles.isUnchanged(path, size, modified);
                }
                if (isChecked && isKnown) {
                    read.add(path, size, modified);
                } else if (isChecked) {
                    read.addAsItIs(path);
                }
                if (isKnown) {
                    present[place >> 3] |= 1 << (place & 7);
                } else {
                    numUnknown += 1;
                    if (numUnknown <= MAX_UNKNOWN && Bridge.isLocal(path)) {
                        unknown.add(path.toUri().getPath());
                    }
                }
            }
        }
        wanted.put("num_unknown", numUnknown);
        wanted.put("present", Base64.getEncoder().encodeToString(present));
        JsonNode filter = this.bridge.ask(wanted).get("filter");
        return filter.isNull() ? null : filter;
    }

    /** A join with the sides it has so far. */
    private static final class Sides {
        final Join join;
        final LogicalPlan left;
        final LogicalPlan right;
        private final String type;

        Sides(Join join) {
            this(join, join.left(), join.right());
        }

        private Sides(Join join, LogicalPlan left, LogicalPlan right) {
            this.join = join;
            this.left = left;
            this.right = right;
            this.type = ProbePlacement.typeOf(join);
        }

        Sides with(LogicalPlan newLeft, LogicalPlan newRight) {
            return new Sides(this.join, newLeft, newRight);
        }

        LogicalPlan join() {
            if (this.left == this.join.left() && this.right == this.join.right()) {
                return this.join;
            }
            List children = new ArrayList();
            children.add(this.left);
            children.add(this.right);
            return (LogicalPlan) this.join.withNewChildren(Scala.seq(children));
        }

        boolean mayDropLeft() {
            return this.isInner() || this.is("RIGHT OUTER") || this.is("LEFT SEMI");
        }

        boolean mayDropRight() {
            boolean keepsLeft =
                    this.is("LEFT OUTER") || this.is("LEFT ANTI") || this.is(ProbePlacement.EXISTENCE);
            return this.isInner() || keepsLeft || this.is("LEFT SEMI");
        }

        /** Why no side can lose rows, or need not; null if one might. */
        String problem() {
            if (this.join.isStreaming()) {
                return "it is a stream";
            }
            if (!this.mayDropLeft() && !this.mayDropRight()) {
                return "a " + this.type + " join keeps all rows of both sides";
            }
            return this.isBroadcast() ? "one side is going to be broadcast" : null;
        }

        /** Whether Spark is going to broadcast one side. */
        private boolean isBroadcast() {
            boolean mayBuildLeft = this.isInner() || this.is("RIGHT OUTER");
            boolean mayBuildRight = !this.is("RIGHT OUTER") && !this.is("FULL OUTER");
            return (mayBuildLeft && this.isSmall(this.left, this.join.hint().leftHint()))
                    || (mayBuildRight && this.isSmall(this.right, this.join.hint().rightHint()));
        }

        private boolean isSmall(LogicalPlan side, Option hint) {
            if (hint.nonEmpty() && ((HintInfo) hint.get()).strategy().nonEmpty()) {
                Object strategy = ((HintInfo) hint.get()).strategy().get();
                return strategy.toString().toLowerCase().startsWith("broadcast");
            }
            long threshold = this.join.conf().autoBroadcastJoinThreshold();
            double size = side.stats().sizeInBytes().toDouble();
            return size <= threshold;
        }

        private boolean isInner() {
            return this.is("INNER") || this.is("CROSS");
        }

        private boolean is(String name) {
            return this.type.equals(name);
        }
    }

    /** Filters joins. */
    private static final class Filtering extends PlanRewriter {
        private final JoinBFIndexRule rule;

        Filtering(JoinBFIndexRule rule) {
            this.rule = rule;
        }

        LogicalPlan rewritten(LogicalPlan node) {
            return node instanceof Join ? this.rule.filtered((Join) node) : node;
        }

        void leave(LogicalPlan node) {
            if (node instanceof Join) {
                this.rule.explain(node, PlanRewriter.CODE, PlanRewriter.WHY);
            }
        }
    }

    /** Puts one node in the place of another. */
    private static final class Replacing extends AbstractPartialFunction {
        private final Object old;
        private final Object replacement;

        Replacing(Object old, Object replacement) {
            this.old = old;
            this.replacement = replacement;
        }

        public boolean isDefinedAt(Object node) {
            return node == this.old;
        }

        public Object applyOrElse(Object node, scala.Function1 otherwise) {
            return node == this.old ? this.replacement : otherwise.apply(node);
        }
    }
}
