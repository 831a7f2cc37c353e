package bloomwriter;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetMapValue;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.MapValues;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Catalyst's conditions as JSON, as far as filters can answer them.
 *
 *     {"and": [...]}   {"or": [...]}   {"in": ["s", "x"], "type": "long", "values": ["1", "2"]}
 *     {"in": ["m"], "part": "key", "type": "string", "values": ["aw=="]}
 *
 * A part is what an array or a map holds: some "element", "key" or "value" is one of the values.
 * A part that filters cannot answer is left out of an AND; an OR with such a part is left out whole.
 * Values are texts: days, microseconds, Base64 of bytes; see `rules/catalyst.py`, which reads them.
 */
final class Conditions {
    private final HadoopFsRelation relation;

    /** Take conditions that stand right above a relation. */
    Conditions(HadoopFsRelation relation) {
        this.relation = relation;
    }

    /** Return the JSON of a condition, or null if filters can answer no part of it. */
    ObjectNode of(Expression condition) {
        if (condition instanceof And) {
            And and = (And) condition;
            return joined("and", of(and.left()), of(and.right()));
        }
        if (condition instanceof Or) {
            Or or = (Or) condition;
            return joined("or", of(or.left()), of(or.right()));
        }
        if (condition instanceof EqualTo) {
            EqualTo equal = (EqualTo) condition;
            return equality(equal.left(), equal.right());
        }
        if (condition instanceof EqualNullSafe) {
            EqualNullSafe equal = (EqualNullSafe) condition;
            return equality(equal.left(), equal.right());
        }
        if (condition instanceof In) {
            In in = (In) condition;
            return equalities(in.value(), Scala.list(in.list()));
        }
        if (condition instanceof InSet) {
            InSet in = (InSet) condition;
            return membership(in.child(), Scala.list(in.hset().toSeq()));
        }
        if (condition instanceof ArrayContains) { // so map_contains_key is by now
            ArrayContains contains = (ArrayContains) condition;
            return element(contains.left(), contains.right());
        }
        return null;
    }

    private static ObjectNode joined(String how, ObjectNode left, ObjectNode right) {
        if (left == null || right == null) {
            return how.equals("or") ? null : left == null ? right : left;
        }
        ObjectNode both = Protocol.object();
        ArrayNode parts = both.putArray(how);
        append(parts, how, left);
        append(parts, how, right);
        return both;
    }

    private static void append(ArrayNode parts, String how, ObjectNode part) {
        if (part.has(how)) {
            parts.addAll((ArrayNode) part.get(how));
        } else {
            parts.add(part);
        }
    }

    private ObjectNode equality(Expression left, Expression right) {
        boolean isReversed = left instanceof Literal;
        Expression column = isReversed ? right : left;
        Expression literal = isReversed ? left : right;
        return equalities(column, Collections.singletonList(literal));
    }

    private ObjectNode equalities(Expression column, List<Expression> literals) {
        List<Object> values = new ArrayList<Object>();
        for (Expression literal : literals) {
            boolean isComparable =
                    literal instanceof Literal && literal.dataType().equals(column.dataType());
            if (!isComparable) {
                return null;
            }
            values.add(((Literal) literal).value());
        }
        return membership(column, values);
    }

    private ObjectNode element(Expression array, Expression literal) {
        boolean isComparable =
                literal instanceof Literal
                        && ((ArrayType) array.dataType()).elementType().equals(literal.dataType());
        if (!isComparable) {
            return null;
        }
        if (array instanceof MapKeys) {
            return part("key", ((MapKeys) array).child(), literal);
        }
        if (array instanceof MapValues) {
            return part("value", ((MapValues) array).child(), literal);
        }
        return part("element", array, literal);
    }

    private ObjectNode part(String part, Expression holder, Expression literal) {
        Object value = ((Literal) literal).value();
        List<Object> items = Collections.singletonList(value);
        ObjectNode condition = values(pathOf(holder), literal.dataType(), items);
        return condition == null ? null : condition.put("part", part);
    }

    /** Return the JSON of `map[key] IN items`: the map holds the key, and one of the items. */
    private ObjectNode entry(GetMapValue entry, List<Object> items) {
        if (!(entry.key() instanceof Literal)) {
            return null;
        }
        ObjectNode key = part("key", entry.child(), entry.key());
        ObjectNode value = values(pathOf(entry.child()), entry.dataType(), items);
        boolean mayBeAbsent = items.size() == 1 && items.get(0) == null; // `<=> NULL`
        if (mayBeAbsent || value == null) {
            return mayBeAbsent ? null : key;
        }
        return joined("and", key, value.put("part", "value"));
    }

    private ObjectNode membership(Expression column, List<Object> items) {
        if (column instanceof GetMapValue) {
            return entry((GetMapValue) column, items);
        }
        return values(pathOf(column), column.dataType(), items);
    }

    private static ObjectNode values(List<String> path, DataType dataType, List<Object> items) {
        String type = path == null ? null : nameOf(dataType);
        if (type == null) {
            return null;
        }
        List<String> values = new ArrayList<String>();
        for (Object item : items) {
            if (item != null) {
                values.add(textOf(item, type));
            } else if (items.size() == 1) { // `<=> NULL` finds nulls, which filters do not hold
                return null;
            }
        }
        ObjectNode condition = Protocol.object();
        condition.set("in", Protocol.texts(path));
        condition.put("type", type);
        condition.set("values", Protocol.texts(values));
        return condition;
    }

    /** Return names from a stored column to a leaf in it; null for any other expression. */
    private List<String> pathOf(Expression column) {
        if (column instanceof AttributeReference) {
            String name = ((AttributeReference) column).name();
            return Relations.isStored(this.relation, name) ? listOf(name) : null;
        }
        if (column instanceof GetStructField) {
            GetStructField field = (GetStructField) column;
            List<String> path = pathOf(field.child());
            StructType struct = (StructType) field.child().dataType();
            if (path != null) {
                path.add(struct.fields()[field.ordinal()].name());
            }
            return path;
        }
        return null;
    }

    private static List<String> listOf(String name) {
        List<String> list = new ArrayList<String>();
        list.add(name);
        return list;
    }

    /** Return the name of a type in messages; null if values of it are not looked up. */
    static String nameOf(DataType type) {
        if (type instanceof DecimalType) {
            return type.simpleString();
        }
        boolean isUsual =
                type instanceof ByteType
                        || type instanceof ShortType
                        || type instanceof IntegerType
                        || type instanceof LongType
                        || type instanceof FloatType
                        || type instanceof DoubleType
                        || type instanceof BinaryType
                        || type instanceof DateType
                        || type instanceof TimestampType
                        || type instanceof TimestampNTZType
                        || DataTypes.StringType.equals(type); // of no other collation
        return isUsual ? type.typeName() : null;
    }

    private static String textOf(Object value, String type) {
        if (value instanceof UTF8String) {
            return Base64.getEncoder().encodeToString(((UTF8String) value).getBytes());
        }
        if (value instanceof byte[]) {
            return Base64.getEncoder().encodeToString((byte[]) value);
        }
        if (value instanceof Float) {
            return Double.toString(((Float) value).doubleValue());
        }
        return value.toString(); // of a Decimal: plain or with an exponent, exact
    }
}
