package bloomwriter;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.runtime.AbstractPartialFunction;

/** Conversions between Scala's collections and functions and Java's. */
final class Scala {
    private Scala() {}

    static <T> scala.collection.immutable.Seq<T> seq(List<T> list) {
        return Shims.seq(list);
    }

    static <T> scala.collection.immutable.Seq<T> seqOf(T item) {
        return Shims.seq(Collections.singletonList(item));
    }

    static <T> scala.collection.immutable.Seq<T> empty() {
        return Shims.seq(new ArrayList<T>());
    }

    static <T> List<T> list(Seq<T> seq) {
        List<T> list = new ArrayList<T>(seq.length());
        for (Iterator<T> i = seq.iterator(); i.hasNext();) {
            list.add(i.next());
        }
        return list;
    }

    /** Return the items of a sequence whose static type does not say what they are. */
    static <T> List<T> list(Seq<?> seq, Class<T> type) {
        List<T> list = new ArrayList<T>(seq.length());
        for (Iterator<?> i = seq.iterator(); i.hasNext();) {
            list.add(type.cast(i.next()));
        }
        return list;
    }

    /** A partial function that replaces some nodes of a tree by others. */
    abstract static class Replacement<A, B> extends AbstractPartialFunction<A, B> {
        /** Return what takes the place of a node, or null if the function is not defined there. */
        abstract Object replacementOf(Object node);

        public boolean isDefinedAt(A node) {
            return this.replacementOf(node) != null;
        }

        @SuppressWarnings("unchecked") // a node is replaced by a node of the same kind
        public <A1 extends A, B1> B1 applyOrElse(A1 node, Function1<A1, B1> otherwise) {
            Object replacement = this.replacementOf(node);
            return replacement == null ? otherwise.apply(node) : (B1) replacement;
        }
    }
}
