package bloomwriter;

import java.util.ArrayList;
import java.util.List;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Between Scala's collections and Java's. */
final class Scala {
    private Scala() {}

    static Seq seq(List list) {
        return CollectionConverters.asScala(list).toSeq();
    }

    static Seq seqOf(Object item) {
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
