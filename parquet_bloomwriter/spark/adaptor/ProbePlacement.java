package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.Seq;

/** Puts a probe into a plan, as far down as it means the same. */
final class ProbePlacement {
    /** The join of `EXISTS (...) OR ...`: it keeps every left row, and adds whether there is a match. */
    static final String EXISTENCE = "EXISTENCE";

    private ProbePlacement() {}

    /** The name of a join's type. */
    static String typeOf(Join join) { // Spark has no SQL for the join of EXISTS
        return join.joinType() instanceof ExistenceJoin ? EXISTENCE : join.joinType().sql();
    }

    /**
     * The key without Spark's normalization of zeros and NaNs: filters have both zeros and the
     * canonical NaN, and the hash is that of normalized values anyway.
     */
    static Expression plain(Expression key) {
        if (key instanceof KnownFloatingPointNormalized) {
            return plain(((KnownFloatingPointNormalized) key).child());
        }
        return key instanceof NormalizeNaNAndZero ? ((NormalizeNaNAndZero) key).child() : key;
    }

    /** Whether computing the key once more costs next to nothing. */
    static boolean isCheap(Expression key) {
        if (key instanceof Cast) {
            return isCheap(((Cast) key).child());
        }
        return key instanceof AttributeReference || key instanceof GetStructField;
    }

    /** Whether the plan has this probe already. */
    static boolean holds(LogicalPlan plan, SbbfProbe probe) {
        if (plan instanceof Filter && holds(((Filter) plan).condition(), probe)) {
            return true;
        }
        for (scala.collection.Iterator i = plan.children().iterator(); i.hasNext();) {
            if (holds((LogicalPlan) i.next(), probe)) {
                return true;
            }
        }
        return false;
    }

    private static boolean holds(Expression expression, SbbfProbe probe) {
        if (expression instanceof Literal && probe.equals(((Literal) expression).value())) {
            return true;
        }
        for (scala.collection.Iterator i = expression.children().iterator(); i.hasNext();) {
            if (holds((Expression) i.next(), probe)) {
                return true;
            }
        }
        return false;
    }

    /** The plan without rows whose key is not in the filter. */
    static LogicalPlan drop(LogicalPlan plan, Expression key, SbbfProbe probe, JsonNode filter) {
        return key instanceof Attribute
                ? sink(plan, (Attribute) key, probe, filter)
                : new Filter(condition(key, probe, filter), plan);
    }

    /** Drop rows below operators that keep the key as it is and treat every row by itself. */
    private static LogicalPlan sink(
            LogicalPlan plan, Attribute key, SbbfProbe probe, JsonNode filter) {
        if (plan instanceof Filter && ((Filter) plan).condition().deterministic()) {
            Filter old = (Filter) plan;
            if (old.child() instanceof LogicalRelation) {
                And both = new And(old.condition(), condition(key, probe, filter));
                return old.copy(both, old.child());
            }
            return old.copy(old.condition(), sink(old.child(), key, probe, filter));
        }
        if (plan instanceof Project && areDeterministic(((Project) plan).projectList())) {
            Project project = (Project) plan;
            Attribute inside = inside(ColumnLineage.named(project.projectList(), key));
            if (inside != null) {
                return project.copy(
                        project.projectList(), sink(project.child(), inside, probe, filter));
            }
        }
        if (plan instanceof Aggregate && !((Aggregate) plan).groupingExpressions().isEmpty()) {
            Aggregate aggregate = (Aggregate) plan;
            Attribute inside = inside(ColumnLineage.named(aggregate.aggregateExpressions(), key));
            if (inside != null && has(aggregate.groupingExpressions(), inside)) {
                return with(plan, sink(aggregate.child(), inside, probe, filter));
            }
        }
        if (plan instanceof Sort || plan instanceof RepartitionOperation) {
            LogicalPlan child = (LogicalPlan) plan.children().head();
            return with(plan, sink(child, key, probe, filter));
        }
        if (plan instanceof Join) {
            return sinkIntoJoin((Join) plan, key, probe, filter);
        }
        return new Filter(condition(key, probe, filter), plan);
    }

    /** A side of a join can lose rows by itself if none of its columns is ever made null. */
    private static LogicalPlan sinkIntoJoin(
            Join join, Attribute key, SbbfProbe probe, JsonNode filter) {
        String type = typeOf(join);
        boolean isInner = type.equals("INNER") || type.equals("CROSS");
        boolean keepsLeft = isInner || type.startsWith("LEFT ") || type.equals(EXISTENCE);
        boolean keepsRight = isInner || type.equals("RIGHT OUTER");
        LogicalPlan left = join.left();
        LogicalPlan right = join.right();
        if (keepsLeft && left.outputSet().contains((NamedExpression) key)) {
            left = sink(left, key, probe, filter);
        } else if (keepsRight && right.outputSet().contains((NamedExpression) key)) {
            right = sink(right, key, probe, filter);
        } else {
            return new Filter(condition(key, probe, filter), join);
        }
        List children = new ArrayList();
        children.add(left);
        children.add(right);
        return (LogicalPlan) join.withNewChildren(Scala.seq(children));
    }

    /** The same operator over another child. */
    private static LogicalPlan with(LogicalPlan plan, LogicalPlan child) {
        return (LogicalPlan) plan.withNewChildren(Scala.seqOf(child));
    }

    private static boolean areDeterministic(Seq list) {
        for (scala.collection.Iterator i = list.iterator(); i.hasNext();) {
            if (!((Expression) i.next()).deterministic()) {
                return false;
            }
        }
        return true;
    }

    private static boolean has(Seq expressions, Attribute attribute) {
        for (scala.collection.Iterator i = expressions.iterator(); i.hasNext();) {
            if (((Expression) i.next()).semanticEquals(attribute)) {
                return true;
            }
        }
        return false;
    }

    /** The attribute below an operator that gives it out under another name, or null. */
    private static Attribute inside(NamedExpression named) {
        Expression given = named instanceof Alias ? ((Alias) named).child() : (Expression) named;
        return given instanceof AttributeReference ? (Attribute) given : null;
    }

    /** Whether the filter might contain the key; true below "cutoff", if there is one. */
    private static Expression condition(Expression key, SbbfProbe probe, JsonNode filter) {
        Literal target = new Literal(probe, new ObjectType(LongPredicate.class));
        Expression asked =
                new Invoke(
                        target,
                        "test",
                        DataTypes.BooleanType,
                        Scala.seqOf(hash(key, filter.get("mode").asText())),
                        Scala.seq(new ArrayList()),
                        true,
                        false,
                        true);
        JsonNode cutoff = filter.get("cutoff");
        if (cutoff == null || cutoff.isNull()) {
            return asked;
        }
        boolean isDay = key.dataType() instanceof DateType;
        Object value =
                isDay ? (Object) Integer.valueOf(cutoff.asInt()) : Long.valueOf(cutoff.asLong());
        return new Or(asked, new LessThan(key, new Literal(value, key.dataType())));
    }

    /** XXH64 of the key as Parquet stores it. */
    private static Expression hash(Expression key, String mode) {
        Expression stored = key;
        if (mode.startsWith("decimal")) {
            stored = new UnscaledValue(key);
        }
        if (mode.equals("decimal32")) {
            stored = new Cast(stored, DataTypes.IntegerType, scala.Option.empty());
        }
        return new XxHash64(Scala.seqOf(stored), 0L);
    }
}
