package bloomwriter;

import bloomwriter.Protocol.JoinFilter;
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
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.ObjectType;
import scala.Option;

/** Puts the probe of a filter into a plan, as far down as the answer stays the same. */
final class ProbePlacement {
    /** The join of `EXISTS (...) OR ...`: it keeps every left row and adds whether there is a match. */
    static final String EXISTENCE = "EXISTENCE";

    private final SbbfProbe probe;
    private final JoinFilter filter;

    ProbePlacement(SbbfProbe probe, JoinFilter filter) {
        this.probe = probe;
        this.filter = filter;
    }

    /** Return the name of a join's type. */
    static String typeOf(Join join) { // Spark has no SQL for the join of EXISTS
        return join.joinType() instanceof ExistenceJoin ? EXISTENCE : join.joinType().sql();
    }

    /**
     * Return a key without Spark's normalization of zeros and NaNs. Filters have both zeros and the
     * canonical NaN, and Spark hashes normalized values anyway.
     */
    static Expression plain(Expression key) {
        if (key instanceof KnownFloatingPointNormalized) {
            return plain(((KnownFloatingPointNormalized) key).child());
        }
        return key instanceof NormalizeNaNAndZero ? ((NormalizeNaNAndZero) key).child() : key;
    }

    /** Return whether computing the key once more costs next to nothing. */
    static boolean isCheap(Expression key) {
        if (key instanceof Cast) {
            return isCheap(((Cast) key).child());
        }
        return key instanceof AttributeReference || key instanceof GetStructField;
    }

    /** Return whether the plan has this probe already. */
    boolean isIn(LogicalPlan plan) {
        if (plan instanceof Filter && this.isIn(((Filter) plan).condition())) {
            return true;
        }
        for (LogicalPlan child : Scala.list(plan.children())) {
            if (this.isIn(child)) {
                return true;
            }
        }
        return false;
    }

    private boolean isIn(Expression expression) {
        if (expression instanceof Literal
                && this.probe.equals(((Literal) expression).value())) {
            return true;
        }
        for (Expression child : Scala.list(expression.children())) {
            if (this.isIn(child)) {
                return true;
            }
        }
        return false;
    }

    /** Return the plan without rows whose key is not in the filter. */
    LogicalPlan drop(LogicalPlan plan, Expression key) {
        return key instanceof Attribute
                ? this.sink(plan, (Attribute) key)
                : new Filter(this.condition(key), plan);
    }

    /** Drop rows below operators that keep the key unchanged and treat every row by itself. */
    private LogicalPlan sink(LogicalPlan plan, Attribute key) {
        if (plan instanceof Filter && ((Filter) plan).condition().deterministic()) {
            Filter old = (Filter) plan;
            if (old.child() instanceof LogicalRelation) {
                return old.copy(new And(old.condition(), this.condition(key)), old.child());
            }
            return old.copy(old.condition(), this.sink(old.child(), key));
        }
        if (plan instanceof Project) {
            Project project = (Project) plan;
            List<NamedExpression> list = Scala.list(project.projectList());
            Attribute inside = inside(ColumnLineage.named(list, key));
            if (areDeterministic(list) && inside != null) {
                return project.copy(project.projectList(), this.sink(project.child(), inside));
            }
        }
        if (plan instanceof Aggregate && !((Aggregate) plan).groupingExpressions().isEmpty()) {
            Aggregate aggregate = (Aggregate) plan;
            List<NamedExpression> list = Scala.list(aggregate.aggregateExpressions());
            Attribute inside = inside(ColumnLineage.named(list, key));
            if (inside != null && has(Scala.list(aggregate.groupingExpressions()), inside)) {
                return with(plan, this.sink(aggregate.child(), inside));
            }
        }
        if (plan instanceof Sort || plan instanceof RepartitionOperation) {
            return with(plan, this.sink((LogicalPlan) plan.children().head(), key));
        }
        if (plan instanceof Join) {
            return this.sinkIntoJoin((Join) plan, key);
        }
        return new Filter(this.condition(key), plan);
    }

    /** Drop rows of a side of a join, if the join never makes columns of that side null. */
    private LogicalPlan sinkIntoJoin(Join join, Attribute key) {
        String type = typeOf(join);
        boolean isInner = type.equals("INNER") || type.equals("CROSS");
        boolean keepsLeft = isInner || type.startsWith("LEFT ") || type.equals(EXISTENCE);
        boolean keepsRight = isInner || type.equals("RIGHT OUTER");
        LogicalPlan left = join.left();
        LogicalPlan right = join.right();
        if (keepsLeft && left.outputSet().contains((NamedExpression) key)) {
            return withSides(join, this.sink(left, key), right);
        }
        if (keepsRight && right.outputSet().contains((NamedExpression) key)) {
            return withSides(join, left, this.sink(right, key));
        }
        return new Filter(this.condition(key), join);
    }

    /** Return the same join of other sides. */
    static LogicalPlan withSides(Join join, LogicalPlan left, LogicalPlan right) {
        List<LogicalPlan> children = new ArrayList<LogicalPlan>();
        children.add(left);
        children.add(right);
        return (LogicalPlan) join.withNewChildren(Scala.seq(children));
    }

    private static LogicalPlan with(LogicalPlan plan, LogicalPlan child) {
        return (LogicalPlan) plan.withNewChildren(Scala.seqOf(child));
    }

    private static boolean areDeterministic(List<NamedExpression> list) {
        for (NamedExpression named : list) {
            if (!((Expression) named).deterministic()) {
                return false;
            }
        }
        return true;
    }

    private static boolean has(List<Expression> expressions, Attribute attribute) {
        for (Expression expression : expressions) {
            if (expression.semanticEquals(attribute)) {
                return true;
            }
        }
        return false;
    }

    /** Return the attribute below an operator that an expression of the operator renames, or null. */
    private static Attribute inside(NamedExpression named) {
        Expression given = named instanceof Alias ? ((Alias) named).child() : (Expression) named;
        return given instanceof AttributeReference ? (Attribute) given : null;
    }

    /** Return whether the filter might contain the key; true for keys below the cutoff. */
    private Expression condition(Expression key) {
        Literal target = new Literal(this.probe, new ObjectType(LongPredicate.class));
        Expression asked =
                new Invoke(
                        target,
                        "test",
                        DataTypes.BooleanType,
                        Scala.seqOf(this.hash(key)),
                        Scala.<AbstractDataType>empty(),
                        true,
                        false,
                        true);
        Long cutoff = this.filter.cutoff;
        if (cutoff == null) {
            return asked;
        }
        boolean isDay = key.dataType() instanceof DateType;
        Object value = isDay ? (Object) Integer.valueOf(cutoff.intValue()) : cutoff;
        return new Or(asked, new LessThan(key, new Literal(value, key.dataType())));
    }

    /** Return XXH64 of the key in the encoding of Parquet. */
    private Expression hash(Expression key) {
        String mode = this.filter.mode;
        Expression stored = mode.startsWith("decimal") ? new UnscaledValue(key) : key;
        if (mode.equals("decimal32")) {
            stored = new Cast(stored, DataTypes.IntegerType, Option.<String>empty());
        }
        return new XxHash64(Scala.seqOf(stored), 0L);
    }
}
