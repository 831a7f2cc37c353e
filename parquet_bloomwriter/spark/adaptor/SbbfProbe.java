package bloomwriter;

import bloomwriter.Protocol.JoinFilter;
import java.io.RandomAccessFile;
import java.io.Serializable;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Objects;
import java.util.function.LongPredicate;
import org.apache.spark.SparkContext;
import org.apache.spark.broadcast.Broadcast;
import scala.reflect.ClassTag;

/**
 * A split block Bloom filter that is asked for every row of one side of a join.
 *
 * The probe counts how many rows pass. Where nearly every row passes, it pauses: most rows are not
 * looked up then. Rows that are not looked up pass, which is never wrong.
 *
 * A query may run long after it was planned. Spark sends its probes to the tasks of each stage when the
 * stage begins. If a file that the filter was made of has changed by then, a probe is sent that lets
 * every row pass.
 *
 * Spark's generated code calls a probe as a LongPredicate, a class of Java's own: this class is in a
 * jar that the class loaders of many threads do not know.
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
    private final Broadcast<int[]> broadcast;
    /** The files that the filter was made of; known to the driver only. */
    private final transient WatchedFiles files;
    private transient int[] words;
    private transient int asked;
    private transient int passed;
    private transient int pause;
    private transient int paused;

    private SbbfProbe(String id, String text, Broadcast<int[]> broadcast, WatchedFiles files) {
        this.id = id;
        this.text = text;
        this.broadcast = broadcast;
        this.files = files;
    }

    /** Read a filter and send it to executors; the probe watches no files. */
    static SbbfProbe of(JoinFilter filter, SparkContext context) throws Exception {
        ByteBuffer bitset = read(filter).order(ByteOrder.LITTLE_ENDIAN);
        int[] words = new int[filter.numBytes / 4];
        bitset.asIntBuffer().get(words);
        ClassTag<int[]> tag = scala.reflect.ClassTag$.MODULE$.apply(int[].class);
        Broadcast<int[]> sent = (Broadcast<int[]>) context.broadcast(words, tag);
        return new SbbfProbe(filter.id, filter.text, sent, new WatchedFiles());
    }

    /** Return the bitset of a filter, if its file has the bytes that Python wrote. */
    private static ByteBuffer read(JoinFilter filter) throws Exception {
        int offset = (int) filter.offset;
        byte[] data = new byte[offset + filter.numBytes];
        RandomAccessFile file = new RandomAccessFile(filter.path, "r");
        try {
            file.readFully(data);
        } finally {
            file.close();
        }
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(data);
        if (!String.format("%064x", new Object[] {new BigInteger(1, digest)}).equals(filter.id)) {
            throw new IllegalStateException(filter.path + " is not as it was written");
        }
        return ByteBuffer.wrap(data, offset, filter.numBytes);
    }

    /** Return the same probe, to be used only as long as these files do not change. */
    SbbfProbe watching(WatchedFiles files) {
        return new SbbfProbe(this.id, this.text, this.broadcast, files);
    }

    /** Return what Java writes in place of a probe that is sent; Janino has no private writeObject. */
    public Object writeReplace() {
        boolean isCurrent = this.files == null || this.files.areUnchanged(); // tasks know no files
        return isCurrent ? this : new SbbfProbe(this.id, this.text, null, null);
    }

    /** Return whether the filter might contain the hash. */
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

    /** Return the text that explain() shows. */
    public String toString() {
        return this.text;
    }
}
