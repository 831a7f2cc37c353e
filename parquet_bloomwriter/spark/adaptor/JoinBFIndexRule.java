package bloomwriter;

import bloomwriter.Protocol.JoinCandidate;
import bloomwriter.Protocol.JoinFilter;
import bloomwriter.Protocol.Reason;
import bloomwriter.Protocol.Subject;
import bloomwriter.Protocol.Usage;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.Tuple8;
import scala.collection.Seq;

/**
 * Drops rows of one side of an equi-join whose key is in no file of the other side.
 *
 * Only sides whose rows without a match are dropped anyway lose rows:
 *
 *     INNER, CROSS, LEFT SEMI             both
 *     LEFT OUTER, LEFT ANTI, EXISTENCE    the right
 *     RIGHT OUTER                         the left
 *
 * and only where Spark is going to shuffle both sides: a broadcast join drops them as cheaply.
 */
public final class JoinBFIndexRule extends Rule<TreeNode<?>> {
    static final String NAME = "JoinBFIndexRule";

    private final Bridge bridge;
    private final String minBytes;
    private final String defaultMinBytes;

    /**
     * @param minBytes name of the setting; sides that Spark takes to be smaller are left alone
     * @param defaultMinBytes the setting's value where it is not set
     */
    public JoinBFIndexRule(Bridge bridge, String minBytes, String defaultMinBytes) {
        this.bridge = bridge;
        this.minBytes = minBytes;
        this.defaultMinBytes = defaultMinBytes;
    }

    public TreeNode<?> apply(TreeNode<?> plan) {
        if (!this.bridge.isOn()) {
            return plan;
        }
        try {
            return new JoinRewriter(this).ofQuery((LogicalPlan) plan);
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return plan;
        }
    }

    /** Return the join over fewer rows; the join itself if no row can be dropped. */
    LogicalPlan filtered(Join join) {
        try {
            return this.filteredByIndexes(join);
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return join;
        }
    }

    private LogicalPlan filteredByIndexes(Join join) throws Exception {
        Option<?> found = ExtractEquiJoinKeys.unapply(join);
        Sides sides = new Sides(join);
        String problem = found.isEmpty() ? "it has no equality of keys" : sides.problem();
        if (problem != null) {
            this.explain(join, problem);
            return join;
        }
        Tuple8<?, ?, ?, ?, ?, ?, ?, ?> parts = (Tuple8<?, ?, ?, ?, ?, ?, ?, ?>) found.get();
        List<Expression> left = Scala.list((Seq<?>) parts._2(), Expression.class);
        List<Expression> right = Scala.list((Seq<?>) parts._3(), Expression.class);
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
    }

    private boolean isWorthwhile(LogicalPlan side) throws Exception {
        String least = side.conf().getConfString(this.minBytes, this.defaultMinBytes);
        if (side.stats().sizeInBytes().toDouble() >= this.bridge.setting(this.minBytes, least)) {
            return true;
        }
        String size = "one side has an estimated " + side.stats().sizeInBytes() + " bytes";
        this.explain(side, size + ", less than " + this.minBytes);
        return false;
    }

    private void explain(LogicalPlan plan, String why) {
        this.explain(plan, new Reason("NOT_ELIGIBLE_JOIN", why));
    }

    private void explain(LogicalPlan plan, Reason reason) {
        String text = plan instanceof Join ? plan.simpleString(100) : "";
        this.bridge.explain(NAME, Subject.of(text), reason);
    }

    /**
     * @param indexedKey of the side whose files are indexed
     * @param key of the side that loses rows
     */
    private Sides filtered(Sides sides, Expression indexedKey, Expression key, boolean dropsLeft)
            throws Exception {
        LogicalPlan indexed = dropsLeft ? sides.right : sides.left;
        LogicalPlan dropped = dropsLeft ? sides.left : sides.right;
        ColumnLineage lineage = ColumnLineage.of(indexedKey, indexed);
        if (lineage == null) {
            this.explain(sides.join, indexedKey.sql() + " is no column of files");
            return sides;
        }
        HadoopFsRelation relation = (HadoopFsRelation) lineage.leaf.relation();
        FileIndex all = relation.location();
        String text = indexedKey.sql() + " = " + key.sql();
        String problem = Relations.problem(relation);
        if (problem != null) {
            Reason reason = new Reason(Relations.UNSUPPORTED, problem);
            this.bridge.explain(NAME, Subject.of(all, text), reason);
            return sides;
        }
        FileIndex pinned = Relations.pinned(all);
        String type = Conditions.nameOf(indexedKey.dataType());
        boolean isSame = indexedKey.dataType().equals(key.dataType());
        boolean isNamed = !lineage.leaf.conf().parquetFieldIdReadEnabled();
        if (type == null || !isSame || !isNamed || !ProbePlacement.isCheap(key)) {
            this.explain(sides.join, "keys such as " + key.sql() + " are not looked up");
            return sides;
        }
        Subject subject = Subject.of(pinned, text);
        boolean isCaseSensitive = sides.join.conf().caseSensitiveAnalysis();
        List<Offer> offers = new ArrayList<Offer>();
        for (JoinCandidate candidate :
                this.bridge.join(subject, lineage.path, type, isCaseSensitive)) {
            KnownFiles known = this.bridge.files(candidate.snapshot);
            FilesRead read = FilesRead.of(pinned, known, candidate.isChecked);
            JoinFilter filter = this.bridge.joinFilter(subject, type, candidate, read);
            if (filter != null) {
                offers.add(new Offer(candidate.name, filter, read));
            }
        }
        if (offers.isEmpty()) {
            return sides;
        }
        Offer best = Offer.best(offers);
        SbbfProbe kept = this.bridge.probe(best.filter, relation.sparkSession().sparkContext());
        ProbePlacement placement =
                new ProbePlacement(kept.watching(best.read.watched), best.filter);
        if (placement.isIn(dropped)) {
            return sides;
        }
        LogicalPlan fewer = placement.drop(dropped, key);
        this.bridge.reportUse(NAME, subject, Usage.ofJoin(best.index));
        for (Offer other : offers) {
            if (other != best) {
                this.bridge.report(
                        NAME, subject, Usage.ofJoin(other.index), other.whyNot(best));
            }
        }
        if (pinned != all) {
            indexed = replaced(indexed, lineage.leaf, Relations.with(lineage.leaf, pinned));
        }
        return dropsLeft ? sides.with(fewer, indexed) : sides.with(indexed, fewer);
    }

    /** The filter that an index has for a join, and the files that it is of. */
    private static final class Offer {
        /** A filter whose rate is at most so much higher is as good, if it is smaller. */
        private static final double CLOSE = 0.01;

        /** The index's name. */
        final String index;
        final JoinFilter filter;
        final FilesRead read;

        Offer(String index, JoinFilter filter, FilesRead read) {
            this.index = index;
            this.filter = filter;
            this.read = read;
        }

        /**
         * Return the smallest of the filters whose rate is close to the lowest rate.
         *
         * Absent keys that pass are shuffled, each of them; a filter is sent to an executor once.
         */
        static Offer best(List<Offer> offers) {
            double lowest = 1;
            for (Offer offer : offers) {
                lowest = Math.min(lowest, offer.filter.fpp);
            }
            Offer best = null;
            for (Offer offer : offers) {
                boolean isClose = offer.filter.fpp <= lowest + CLOSE;
                if (isClose && (best == null || offer.isBetterThan(best))) {
                    best = offer;
                }
            }
            return best;
        }

        private boolean isBetterThan(Offer other) {
            boolean isAsLarge = this.filter.numBytes == other.filter.numBytes;
            return isAsLarge
                    ? this.filter.fpp < other.filter.fpp
                    : this.filter.numBytes < other.filter.numBytes;
        }

        Reason whyNot(Offer best) {
            boolean isSmaller = best.filter.fpp >= this.filter.fpp;
            String why = isSmaller ? "is smaller at about the same rate" : "lets fewer keys pass";
            why = "the filter of the index " + best.index + " " + why;
            return new Reason("ANOTHER_INDEX_APPLIED", why);
        }
    }

    private static LogicalPlan replaced(LogicalPlan plan, LogicalPlan old, LogicalPlan replacement) {
        return (LogicalPlan)
                plan.transformUp(new NodeReplacement<LogicalPlan, LogicalPlan>(old, replacement));
    }

    /** A join, and the sides that are to replace its own. */
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
            return ProbePlacement.withSides(this.join, this.left, this.right);
        }

        boolean mayDropLeft() {
            return this.isInner() || this.is("RIGHT OUTER") || this.is("LEFT SEMI");
        }

        boolean mayDropRight() {
            boolean keepsLeft =
                    this.is("LEFT OUTER") || this.is("LEFT ANTI") || this.is(ProbePlacement.EXISTENCE);
            return this.isInner() || keepsLeft || this.is("LEFT SEMI");
        }

        /** Return why no side can or need lose rows, or null. */
        String problem() {
            if (this.join.isStreaming()) {
                return "it is a stream";
            }
            if (!this.mayDropLeft() && !this.mayDropRight()) {
                return "a " + this.type + " join keeps all rows of both sides";
            }
            return this.isBroadcast() ? "one side is going to be broadcast" : null;
        }

        /** Return whether Spark is going to broadcast one side. */
        private boolean isBroadcast() {
            boolean mayBuildLeft = this.isInner() || this.is("RIGHT OUTER");
            boolean mayBuildRight = !this.is("RIGHT OUTER") && !this.is("FULL OUTER");
            return (mayBuildLeft && this.isSmall(this.left, this.join.hint().leftHint()))
                    || (mayBuildRight && this.isSmall(this.right, this.join.hint().rightHint()));
        }

        private boolean isSmall(LogicalPlan side, Option<HintInfo> hint) {
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

    /** Rewrites the joins of a plan. */
    private static final class JoinRewriter extends PlanRewriter {
        private final JoinBFIndexRule rule;

        JoinRewriter(JoinBFIndexRule rule) {
            this.rule = rule;
        }

        LogicalPlan rewritten(LogicalPlan node) {
            return node instanceof Join ? this.rule.filtered((Join) node) : node;
        }

        void leave(LogicalPlan node) {
            if (node instanceof Join) {
                this.rule.explain(node, PlanRewriter.DEPENDS_ON_PLACE);
            }
        }
    }

    /** Replaces one node by another. */
    private static final class NodeReplacement<A, B> extends Scala.Replacement<A, B> {
        private final Object old;
        private final Object replacement;

        NodeReplacement(Object old, Object replacement) {
            this.old = old;
            this.replacement = replacement;
        }

        Object replacementOf(Object node) {
            return node == this.old ? this.replacement : null;
        }
    }
}
