package bloomwriter;

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
import scala.runtime.AbstractPartialFunction;

/**
 * Rewrites the nodes of a plan, from the leaves up, but nothing below an operator whose answer depends
 * on the place of a row: its partition, and its position there.
 *
 * A sample and `rand(seed)` draw by the place, so fewer files or rows below them give other answers.
 *
 * Spark optimizes subqueries by themselves first, when nothing is known of what stands above them.
 * They are left until the whole query is optimized: those of `IN` and `EXISTS` are joins by then, and
 * those that are still subqueries give a value, whatever stands above.
 */
abstract class PlanRewriter {
    static final String CODE = "DEPENDS_ON_PLACE";
    static final String WHY =
            "above is a sample, or an expression such as rand(), whose answer depends on the partitions";

    /** Return the node to put in the place of a node. */
    abstract LogicalPlan rewritten(LogicalPlan node);

    /** Explain why a node below such an operator is left as it is. */
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

    /** Leave a plan as it is, but for subqueries in it. */
    private LogicalPlan leaveAll(LogicalPlan plan) {
        this.leave(plan);
        return this.inside(plan, true);
    }

    /** The node over rewritten children, or over such as are left, and with rewritten subqueries. */
    private LogicalPlan inside(LogicalPlan plan, boolean isLeft) {
        boolean isChanged = false;
        List children = new ArrayList();
        for (scala.collection.Iterator i = plan.children().iterator(); i.hasNext();) {
            LogicalPlan child = (LogicalPlan) i.next();
            LogicalPlan other = isLeft ? this.leaveAll(child) : this.of(child);
            isChanged = isChanged || other != child;
            children.add(other);
        }
        Object same = isChanged ? plan.withNewChildren(Scala.seq(children)) : plan;
        return (LogicalPlan) ((LogicalPlan) same).transformExpressions(new Subqueries(this));
    }

    private static boolean dependsOnPlace(LogicalPlan plan) {
        if (plan instanceof Sample) {
            return true;
        }
        for (scala.collection.Iterator i = plan.expressions().iterator(); i.hasNext();) {
            if (dependsOnPlace((Expression) i.next())) {
                return true;
            }
        }
        return false;
    }

    /** Spark calls `first` and `collect_list` nondeterministic as well, and promises no order there. */
    private static boolean dependsOnPlace(Expression expression) {
        if (expression.deterministic()) {
            return false;
        }
        boolean isInherited = false;
        for (scala.collection.Iterator i = expression.children().iterator(); i.hasNext();) {
            Expression child = (Expression) i.next();
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

    /** Rewrites the queries in expressions; not those of Spark's own, which are copies of a join's side. */
    private static final class Subqueries extends AbstractPartialFunction {
        private final PlanRewriter rewriting;

        Subqueries(PlanRewriter rewriting) {
            this.rewriting = rewriting;
        }

        public boolean isDefinedAt(Object node) {
            return node instanceof SubqueryExpression && !(node instanceof DynamicPruningSubquery);
        }

        public Object applyOrElse(Object node, scala.Function1 otherwise) {
            if (!this.isDefinedAt(node)) {
                return otherwise.apply(node);
            }
            SubqueryExpression subquery = (SubqueryExpression) node;
            LogicalPlan old = (LogicalPlan) subquery.plan();
            LogicalPlan plan = this.rewriting.of(old);
            return plan == old ? subquery : subquery.withNewPlan(plan);
        }
    }
}
