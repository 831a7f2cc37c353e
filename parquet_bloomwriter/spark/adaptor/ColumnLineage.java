package bloomwriter;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Arrays;
import java.util.HashSet;
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
import scala.collection.Seq;

/**
 * The stored column that a key comes from, unchanged.
 *
 * Every value of the key is then a value of the column, or null. Operators that may only drop or repeat
 * rows are passed; a Union is not, whose output borrows the attributes of its first child.
 */
final class ColumnLineage {
    private static final Set PASSED =
            new HashSet(
                    Arrays.asList(
                            new String[] {
                                "Filter", "Sort", "GlobalLimit", "LocalLimit", "Window", "Generate",
                                "Sample", "Repartition", "RepartitionByExpression", "Join",
                                "RebalancePartitions", "Offset", "WindowGroupLimit"
                            }));

    final LogicalRelation leaf;
    /** Names from the column to a leaf in it. */
    final ArrayNode path;

    private ColumnLineage(LogicalRelation leaf, ArrayNode path) {
        this.leaf = leaf;
        this.path = path;
    }

    /** Where a key of a plan comes from, or null. */
    static ColumnLineage of(Expression key, LogicalPlan plan) {
        return find(key, Bridge.JSON.createArrayNode(), plan);
    }

    /**
     * @param key an attribute, or a field of a struct
     * @param inside names of the fields within it that are meant
     */
    private static ColumnLineage find(Expression key, ArrayNode inside, LogicalPlan plan) {
        ArrayNode names = Bridge.JSON.createArrayNode();
        while (key instanceof GetStructField) {
            GetStructField field = (GetStructField) key;
            org.apache.spark.sql.types.StructType struct =
                    (org.apache.spark.sql.types.StructType) field.child().dataType();
            names.insert(0, struct.fields()[field.ordinal()].name());
            key = field.child();
        }
        if (!(key instanceof AttributeReference)) {
            return null;
        }
        names.addAll(inside);
        AttributeReference attribute = (AttributeReference) key;
        if (!plan.outputSet().contains(attribute)) {
            return null;
        }
        if (plan instanceof LogicalRelation) {
            LogicalRelation leaf = (LogicalRelation) plan;
            String name = nameIn(leaf, attribute);
            boolean isStored =
                    leaf.relation() instanceof HadoopFsRelation
                            && Relations.isStored((HadoopFsRelation) leaf.relation(), name);
            return isStored ? new ColumnLineage(leaf, names.insert(0, name)) : null;
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

    private static ColumnLineage findNamed(
            Seq list, AttributeReference attribute, ArrayNode names, LogicalPlan plan) {
        NamedExpression named = named(list, attribute);
        if (named instanceof Alias) {
            return findInChildren(((Alias) named).child(), names, plan);
        }
        return named instanceof AttributeReference ? findInChildren(attribute, names, plan) : null;
    }

    private static ColumnLineage findInChildren(Expression key, ArrayNode names, LogicalPlan plan) {
        for (scala.collection.Iterator i = plan.children().iterator(); i.hasNext();) {
            ColumnLineage lineage = find(key, names, (LogicalPlan) i.next());
            if (lineage != null) {
                return lineage;
            }
        }
        return null;
    }

    /** What a list of named expressions gives out as this attribute, or null. */
    static NamedExpression named(Seq list, Attribute attribute) {
        for (scala.collection.Iterator i = list.iterator(); i.hasNext();) {
            NamedExpression named = (NamedExpression) i.next();
            if (named.exprId().equals(attribute.exprId())) {
                return named;
            }
        }
        return null;
    }

    private static String nameIn(LogicalRelation leaf, AttributeReference attribute) {
        return ((NamedExpression) named(leaf.output(), attribute)).name();
    }
}
