package foreign;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.Iterator;

/** Hides the rows of a `HidingIndex` whose column "hidden" is true, as deletion vectors would. */
public final class HidingRule extends Rule<TreeNode<?>> {
    public TreeNode<?> apply(TreeNode<?> plan) {
        return shown((LogicalPlan) plan, false);
    }

    private static LogicalPlan shown(LogicalPlan plan, boolean isDone) {
        if (plan instanceof LogicalRelation) {
            LogicalRelation leaf = (LogicalRelation) plan;
            return isDone || !isHiding(leaf) ? plan : new Filter(condition(leaf), plan);
        }
        boolean hides =
                plan instanceof Filter && ((Filter) plan).condition().toString().contains("hidden");
        List<LogicalPlan> children = new ArrayList<LogicalPlan>();
        for (Iterator<LogicalPlan> i = plan.children().iterator(); i.hasNext();) {
            children.add(shown((LogicalPlan) i.next(), hides));
        }
        return (LogicalPlan)
                plan.withNewChildren(PythonUtils.toSeq(children).toList());
    }

    private static boolean isHiding(LogicalRelation leaf) {
        return leaf.relation() instanceof HadoopFsRelation
                && ((HadoopFsRelation) leaf.relation()).location() instanceof HidingIndex;
    }

    private static Expression condition(LogicalRelation leaf) {
        for (Iterator<AttributeReference> i = leaf.output().iterator(); i.hasNext();) {
            AttributeReference attribute = (AttributeReference) i.next();
            if (attribute.name().equals("hidden")) {
                return new EqualTo(attribute, new Literal(Boolean.FALSE, DataTypes.BooleanType));
            }
        }
        throw new IllegalStateException("there is no column \"hidden\"");
    }
}
