package bloomwriter;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.Nondeterministic;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;

/**
 * Rewrites the nodes of a plan, from the leaves up, but nothing below an operator whose answer depends
 * on the place of a row: its partition, and its position there.
 *
 * A sample and `rand(seed)` draw by the place, so fewer files or rows below them give other answers.
 */
abstract class Rewriting {
    static final String CODE = "DEPENDS_ON_PLACE";
    static final String WHY =
            "above is a sample, or an expression such as rand(), whose answer depends on the partitions";

    /** Return the node to put in the place of a node. */
    abstract LogicalPlan rewritten(LogicalPlan node);

    /** Explain why a node below such an operator is left as it is. */
    abstract void leave(LogicalPlan node);

    LogicalPlan of(LogicalPlan plan) {
        if (dependsOnPlace(plan)) {
            this.leaveAll(plan);
            return plan;
        }
        boolean isChanged = false;
        List children = new ArrayList();
        for (scala.collection.Iterator i = plan.children().iterator(); i.hasNext();) {
            LogicalPlan child = (LogicalPlan) i.next();
            LogicalPlan other = this.of(child);
            isChanged = isChanged || other != child;
            children.add(other);
        }
        Object same = isChanged ? plan.withNewChildren(Scala.seq(children)) : plan;
        return this.rewritten((LogicalPlan) same);
    }

    private void leaveAll(LogicalPlan plan) {
        this.leave(plan);
        for (scala.collection.Iterator i = plan.children().iterator(); i.hasNext();) {
            this.leaveAll((LogicalPlan) i.next());
        }
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
}
