package bloomwriter;

import bloomwriter.Protocol.Reason;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Nondeterministic;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;

/**
 * Rewrites the nodes of a plan, from the leaves up. Nothing is rewritten below an operator whose result
 * depends on the place of a row: its partition, and its position there.
 *
 * A sample and `rand(seed)` draw by the place, so that fewer files or rows below them change the result.
 *
 * Spark optimizes each subquery by itself first, without what stands above it. Subqueries are left
 * until the whole query is optimized. By then those of `IN` and `EXISTS` are joins, and the remaining
 * ones give a value that does not depend on what stands above.
 */
abstract class PlanRewriter {
    static final Reason DEPENDS_ON_PLACE =
            new Reason(
                    "DEPENDS_ON_PLACE",
                    "above is a sample, or an expression such as rand(), whose answer depends on the"
                            + " partitions");

    /** Return the node to put in the place of a node. */
    abstract LogicalPlan rewritten(LogicalPlan node);

    /** Explain why a node below such an operator is left unchanged. */
    abstract void leave(LogicalPlan node);

    /** Rewrite a whole query. */
    final LogicalPlan ofQuery(LogicalPlan plan) {
        return plan instanceof Subquery ? plan : this.of(plan);
    }

    private LogicalPlan of(LogicalPlan plan) {
        if (dependsOnPlace(plan)) {
            return this.leaveAll(plan);
        }
        return this.rewritten(this.inside(plan, false));
    }

    /** Leave a plan unchanged but for its subqueries. */
    private LogicalPlan leaveAll(LogicalPlan plan) {
        this.leave(plan);
        return this.inside(plan, true);
    }

    /** Rewrite subqueries of a node and, unless they are left, its children. */
    private LogicalPlan inside(LogicalPlan plan, boolean isLeft) {
        boolean isChanged = false;
        List<LogicalPlan> children = new ArrayList<LogicalPlan>();
        for (LogicalPlan child : Scala.list(plan.children())) {
            LogicalPlan other = isLeft ? this.leaveAll(child) : this.of(child);
            isChanged = isChanged || other != child;
            children.add(other);
        }
        LogicalPlan same =
                isChanged ? (LogicalPlan) plan.withNewChildren(Scala.seq(children)) : plan;
        return (LogicalPlan)
                same.transformExpressions(new SubqueryRewriter<Expression, Expression>(this));
    }

    private static boolean dependsOnPlace(LogicalPlan plan) {
        if (plan instanceof Sample) {
            return true;
        }
        for (Expression expression : Scala.list(plan.expressions())) {
            if (dependsOnPlace(expression)) {
                return true;
            }
        }
        return false;
    }

    /** Spark also calls `first` and `collect_list` nondeterministic, and promises no order for them. */
    private static boolean dependsOnPlace(Expression expression) {
        if (expression.deterministic()) {
            return false;
        }
        boolean isInherited = false;
        for (Expression child : Scala.list(expression.children())) {
            if (dependsOnPlace(child)) {
                return true;
            }
            isInherited = isInherited || !child.deterministic();
        }
        if (isInherited) {
            return expression instanceof Nondeterministic
                    || expression instanceof UserDefinedExpression;
        }
        return !(expression instanceof InputFileName || expression instanceof AggregateFunction);
    }

    /** Rewrites subqueries in expressions, except Spark's own copies of a join's side. */
    private static final class SubqueryRewriter<A, B> extends Scala.Replacement<A, B> {
        private final PlanRewriter rewriter;

        SubqueryRewriter(PlanRewriter rewriter) {
            this.rewriter = rewriter;
        }

        Object replacementOf(Object node) {
            if (!(node instanceof SubqueryExpression) || node instanceof DynamicPruningSubquery) {
                return null;
            }
            SubqueryExpression subquery = (SubqueryExpression) node;
            LogicalPlan old = (LogicalPlan) subquery.plan();
            LogicalPlan plan = this.rewriter.of(old);
            return plan == old ? subquery : subquery.withNewPlan(plan);
        }
    }
}
