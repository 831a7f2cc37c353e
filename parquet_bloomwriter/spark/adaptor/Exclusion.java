package bloomwriter;

import java.util.Arrays;
import org.apache.hadoop.fs.Path;

/** The files that one index rules out. */
final class Exclusion {
    private final KnownFiles files;
    /** One bit for each file of the manifest, the lowest bit of the first byte first. */
    private final byte[] excluded;
    /** Whether files are looked at before they are left out, because listings may be old. */
    private final boolean isChecked;
    final String index;
    private final String snapshot;

    Exclusion(
            String index,
            String snapshot,
            KnownFiles files,
            byte[] excluded,
            boolean isChecked) {
        this.index = index;
        this.snapshot = snapshot;
        this.files = files;
        this.excluded = excluded;
        this.isChecked = isChecked;
    }

    /**
     * Whether a file is known, and can hold nothing that is asked for.
     *
     * @param looks whether it must be known as it is now, and not only as it was listed
     */
    boolean rulesOut(Path path, long size, long modified, boolean looks) {
        return this.isExcluded(this.files.placeOf(path, size, modified))
                && (!looks
                        || !this.isChecked
                        || LocalFiles.isUnchanged(path, size, modified));
    }

    /** Whether a file that is not ruled out is one of those that the index was made of. */
    boolean knows(Path path, long size, long modified) {
        int place = this.files.placeOf(path, size, modified);
        return place >= 0 && !this.isExcluded(place); // else it is another one by now
    }

    private boolean isExcluded(int place) {
        return place >= 0 && (this.excluded[place >> 3] >> (place & 7) & 1) != 0;
    }

    public boolean equals(Object other) {
        if (!(other instanceof Exclusion)) {
            return false;
        }
        Exclusion that = (Exclusion) other;
        return this.snapshot.equals(that.snapshot)
                && this.isChecked == that.isChecked
                && Arrays.equals(this.excluded, that.excluded);
    }

    public int hashCode() {
        return 31 * this.snapshot.hashCode() + Arrays.hashCode(this.excluded);
    }
}
