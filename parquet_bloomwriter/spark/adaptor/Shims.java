package bloomwriter;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Calls that differ between Spark 3.5 (Scala 2.12) and Spark 4.0 to 4.3 (Scala 2.13).
 *
 * The sources are compiled against the Spark that runs, so calls that are spelled the same in all
 * versions need no shim. Spark's `Seq` is `scala.collection.Seq` before 4.0 and
 * `scala.collection.immutable.Seq` since. Sources take the former, a supertype of both, and return the
 * latter, a subtype of both.
 */
final class Shims {
    private Shims() {}

    /**
     * Return an immutable sequence.
     *
     * Scala's converters have other names in 2.12 and 2.13. Its builders have methods that differ only
     * in what they return, among which Janino finds the right one on some runs only.
     */
    static <T> scala.collection.immutable.Seq<T> seq(List<T> list) {
        return immutable(PythonUtils.toSeq(list));
    }

    /** Return an immutable sequence of the same items. */
    static <T> scala.collection.immutable.Seq<T> immutable(scala.collection.Seq<T> seq) {
        return seq.toList();
    }

    /** Return the same leaf over another relation. Since Spark 4.0 a leaf has a fifth argument. */
    static LogicalRelation with(LogicalRelation leaf, HadoopFsRelation relation) {
        Object[] arguments = new Object[leaf.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = leaf.productElement(i);
        }
        arguments[0] = relation;
        return (LogicalRelation) leaf.makeCopy(arguments);
    }

    /** Return whether an index lists files of an earlier version of its table; new in Spark 4.3. */
    static boolean isTimeTravel(FileIndex location) {
        Method method;
        try {
            method = FileIndex.class.getMethod("isTimeTravel", new Class<?>[0]);
        } catch (NoSuchMethodException error) {
            return false;
        }
        try {
            return ((Boolean) method.invoke(location, new Object[0])).booleanValue();
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(error.getCause());
        }
    }
}
