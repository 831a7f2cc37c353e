package bloomwriter;

import java.util.Arrays;
import org.apache.hadoop.fs.Path;

/** The files that one index rules out. */
final class Exclusion {
    private final KnownFiles files;
    /** One bit for each file of the manifest, the lowest bit of the first byte first. */
    private final byte[] excluded;
    final String index;
    private final String snapshot;

    Exclusion(String index, String snapshot, KnownFiles files, byte[] excluded) {
        this.index = index;
        this.snapshot = snapshot;
        this.files = files;
        this.excluded = excluded;
    }

    /** Whether a file is known as it is now, and can hold nothing that is asked for. */
    boolean rulesOut(Path path, long size, long modified) {
        int place = this.files.placeOf(path, size, modified);
        return place >= 0 && (this.excluded[place >> 3] >> (place & 7) & 1) != 0;
    }

    /** Whether a file is one of those that the index was made of. */
    boolean knows(Path path, long size, long modified) {
        return this.files.placeOf(path, size, modified) >= 0;
    }

    public boolean equals(Object other) {
        if (!(other instanceof Exclusion)) {
            return false;
        }
        Exclusion that = (Exclusion) other;
        return this.snapshot.equals(that.snapshot) && Arrays.equals(this.excluded, that.excluded);
    }

    public int hashCode() {
        return 31 * this.snapshot.hashCode() + Arrays.hashCode(this.excluded);
    }
}
