package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.RandomAccessFile;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.function.LongPredicate;
import org.apache.spark.SparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * A split block Bloom filter, asked for every row of one side of a join.
 *
 * Whether asking pays is watched: where nearly every row passes, most rows are not asked about. Rows
 * that are not asked about pass, which is never wrong.
 *
 * A query may run long after it was planned. Spark sends its probes to the tasks of each stage when the
 * stage begins: if a file that the filter was made of is another by then, a probe is sent that passes
 * every row.
 *
 * Spark's generated code knows a probe as a LongPredicate, a class of Java's own: this class is in a
 * jar that the loaders of many threads do not have.
 */
public final class SbbfProbe implements LongPredicate, Serializable {
    private static final long serialVersionUID = 1L;
    private static final int WATCHED = 4096;
    private static final int FEW = WATCHED / 8;
    private static final int LONGEST_PAUSE = 1 << 20;
    private static final int SALT_0 = 0x47b6137b;
    private static final int SALT_1 = 0x44974d91;
    private static final int SALT_2 = 0x8824ad5b;
    private static final int SALT_3 = 0xa2b7289d;
    private static final int SALT_4 = 0x705495c7;
    private static final int SALT_5 = 0x2df1424b;
    private static final int SALT_6 = 0x9efc4947;
    private static final int SALT_7 = 0x5c6bfb31;

    private final String id;
    private final String text;
    /** The filter; null lets every row pass. */
    private final Broadcast broadcast;
    /** What the filter was made of, known to the driver only. */
    private final transient LocalFiles files;
    private transient int[] words;
    private transient int asked;
    private transient int passed;
    private transient int pause;
    private transient int paused;

    private SbbfProbe(String id, String text, Broadcast broadcast, LocalFiles files) {
        this.id = id;
        this.text = text;
        this.broadcast = broadcast;
        this.files = files;
    }

    /** Read {"id", "text", "path", "offset", "num_bytes"}: a probe that heeds no files. */
    static SbbfProbe of(JsonNode filter, SparkContext context) throws Exception {
        byte[] bitset = new byte[filter.get("num_bytes").asInt()];
        RandomAccessFile file = new RandomAccessFile(filter.get("path").asText(), "r");
        try {
            file.seek(filter.get("offset").asLong());
            file.readFully(bitset);
        } finally {
            file.close();
        }
        int[] words = new int[bitset.length / 4];
        ByteBuffer.wrap(bitset).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(words);
        Broadcast sent =
                context.broadcast(words, scala.reflect.ClassTag$.MODULE$.apply(int[].class));
        return new SbbfProbe(filter.get("id").asText(), filter.get("text").asText(), sent, new LocalFiles());
    }

    /** The same probe for as long as these files stay what they are. */
    SbbfProbe heeding(LocalFiles files) {
        return new SbbfProbe(this.id, this.text, this.broadcast, files);
    }

    /** What Java writes in the place of this, whenever it is sent; Janino has no private writeObject. */
    public Object writeReplace() {
        boolean isCurrent = this.files == null || this.files.areUnchanged(); // tasks know no files
        return isCurrent ? this : new SbbfProbe(this.id, this.text, null, null);
    }

    /** Whether the filter might contain the hash. */
    public boolean test(long hash) {
        if (this.broadcast == null) {
            return true;
        }
        if (this.paused > 0) {
            this.paused--;
            return true;
        }
        if (this.words == null) {
            this.words = (int[]) this.broadcast.value();
        }
        boolean found = check(this.words, hash);
        if (found) {
            this.passed++;
        }
        this.asked++;
        if (this.asked == WATCHED) {
            boolean isUseless = this.passed > WATCHED - FEW;
            this.pause = isUseless ? Math.min(LONGEST_PAUSE, 4 * this.pause + WATCHED) : 0;
            this.paused = this.pause;
            this.asked = 0;
            this.passed = 0;
        }
        return found;
    }

    private static boolean check(int[] words, long hash) {
        int at = (int) (((hash >>> 32) * (words.length >>> 3)) >>> 32) << 3;
        int low = (int) hash;
        return (words[at] >>> (low * SALT_0 >>> 27)
                        & words[at + 1] >>> (low * SALT_1 >>> 27)
                        & words[at + 2] >>> (low * SALT_2 >>> 27)
                        & words[at + 3] >>> (low * SALT_3 >>> 27)
                        & words[at + 4] >>> (low * SALT_4 >>> 27)
                        & words[at + 5] >>> (low * SALT_5 >>> 27)
                        & words[at + 6] >>> (low * SALT_6 >>> 27)
                        & words[at + 7] >>> (low * SALT_7 >>> 27)
                        & 1)
                != 0;
    }

    String id() {
        return this.id;
    }

    public boolean equals(Object other) {
        if (!(other instanceof SbbfProbe)) {
            return false;
        }
        SbbfProbe that = (SbbfProbe) other;
        return this.id.equals(that.id) && Objects.equals(this.files, that.files);
    }

    public int hashCode() {
        return this.id.hashCode();
    }

    /** Shown by explain(). */
    public String toString() {
        return this.text;
    }
}
