package bloomwriter;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;
import scala.collection.Seq;

/**
 * The stored column that a key comes from, unchanged.
 *
 * Every value of the key is then a value of the column, or null. The search passes operators that only
 * drop or repeat rows. It does not pass a Union, whose output borrows the attributes of its first child.
 */
final class ColumnLineage {
    private static final Set<String> PASSED =
            new HashSet<String>(
                    Arrays.asList(
                            new String[] {
                                "Filter", "Sort", "GlobalLimit", "LocalLimit", "Window", "Generate",
                                "Sample", "Repartition", "RepartitionByExpression", "Join",
                                "RebalancePartitions", "Offset", "WindowGroupLimit"
                            }));

    final LogicalRelation leaf;
    /** Names from the column to a leaf in it. */
    final List<String> path;

    private ColumnLineage(LogicalRelation leaf, List<String> path) {
        this.leaf = leaf;
        this.path = path;
    }

    /** Return the stored column that a key of a plan comes from, or null. */
    static ColumnLineage of(Expression key, LogicalPlan plan) {
        return find(key, Collections.<String>emptyList(), plan);
    }

    /**
     * @param key an attribute, or a field of a struct
     * @param inside names that lead from the key to a field within it
     */
    private static ColumnLineage find(Expression key, List<String> inside, LogicalPlan plan) {
        List<String> names = new ArrayList<String>(inside);
        while (key instanceof GetStructField) {
            GetStructField field = (GetStructField) key;
            StructType struct = (StructType) field.child().dataType();
            names.add(0, struct.fields()[field.ordinal()].name());
            key = field.child();
        }
        if (!(key instanceof AttributeReference)) {
            return null;
        }
        AttributeReference attribute = (AttributeReference) key;
        if (!plan.outputSet().contains(attribute)) {
            return null;
        }
        if (plan instanceof LogicalRelation) {
            return ofLeaf((LogicalRelation) plan, attribute, names);
        }
        if (plan instanceof Project) {
            return findNamed(((Project) plan).projectList(), attribute, names, plan);
        }
        if (plan instanceof Aggregate) {
            return findNamed(((Aggregate) plan).aggregateExpressions(), attribute, names, plan);
        }
        return PASSED.contains(plan.getClass().getSimpleName())
                ? findInChildren(attribute, names, plan)
                : null;
    }

    private static ColumnLineage ofLeaf(
            LogicalRelation leaf, AttributeReference attribute, List<String> names) {
        if (!(leaf.relation() instanceof HadoopFsRelation)) {
            return null;
        }
        String name = named(Scala.list(leaf.output()), attribute).name();
        if (!Relations.isStored((HadoopFsRelation) leaf.relation(), name)) {
            return null;
        }
        names.add(0, name);
        return new ColumnLineage(leaf, names);
    }

    private static ColumnLineage findNamed(
            Seq<NamedExpression> list,
            AttributeReference attribute,
            List<String> names,
            LogicalPlan plan) {
        NamedExpression named = named(Scala.list(list), attribute);
        if (named instanceof Alias) {
            return findInChildren(((Alias) named).child(), names, plan);
        }
        return named instanceof AttributeReference ? findInChildren(attribute, names, plan) : null;
    }

    private static ColumnLineage findInChildren(
            Expression key, List<String> names, LogicalPlan plan) {
        for (LogicalPlan child : Scala.list(plan.children())) {
            ColumnLineage lineage = find(key, names, child);
            if (lineage != null) {
                return lineage;
            }
        }
        return null;
    }

    /** Return the expression of a list whose value is this attribute, or null. */
    static <E extends NamedExpression> NamedExpression named(List<E> list, Attribute attribute) {
        for (NamedExpression named : list) {
            if (named.exprId().equals(attribute.exprId())) {
                return named;
            }
        }
        return null;
    }
}
