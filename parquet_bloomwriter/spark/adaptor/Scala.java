package bloomwriter;

import java.util.ArrayList;
import java.util.List;
import scala.collection.Seq;

/** Between Scala's collections and Java's. */
final class Scala {
    private Scala() {}

    static scala.collection.immutable.Seq seq(List list) {
        return Shims.seq(list);
    }

    static scala.collection.immutable.Seq seqOf(Object item) {
        List list = new ArrayList(1);
        list.add(item);
        return seq(list);
    }

    static List list(Seq seq) {
        List list = new ArrayList(seq.length());
        for (scala.collection.Iterator i = seq.iterator(); i.hasNext();) {
            list.add(i.next());
        }
        return list;
    }
}
