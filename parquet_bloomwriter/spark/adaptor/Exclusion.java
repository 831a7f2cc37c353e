package bloomwriter;

import bloomwriter.Protocol.PrunedIndex;
import java.util.Arrays;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/** The files that one index rules out. */
final class Exclusion {
    private final PrunedIndex pruned;
    private final KnownFiles files;

    Exclusion(PrunedIndex pruned, KnownFiles files) {
        if (8 * pruned.excluded.length < files.count) {
            throw new IllegalStateException("an answer has fewer bits than the index has files");
        }
        this.pruned = pruned;
        this.files = files;
    }

    /** Return the name of the index. */
    String index() {
        return this.pruned.name;
    }

    /**
     * Return whether a file is known, and cannot hold rows that the condition asks for.
     *
     * @param looks whether the file must have its listed size and time now, if the index is checked
     */
    boolean rulesOut(FileStatusWithMetadata file, boolean looks) {
        Path path = file.getPath();
        long size = file.getLen();
        long modified = file.getModificationTime();
        return this.isExcluded(this.files.positionOf(path, size, modified))
                && (!looks
                        || !this.pruned.isChecked
                        || LocalFiles.isUnchanged(path, size, modified));
    }

    /** Return whether a file that is not ruled out is known; a file that was replaced is not. */
    boolean knows(FileStatusWithMetadata file) {
        int position =
                this.files.positionOf(file.getPath(), file.getLen(), file.getModificationTime());
        return position >= 0 && !this.isExcluded(position);
    }

    private boolean isExcluded(int position) {
        return position >= 0 && (this.pruned.excluded[position >> 3] >> (position & 7) & 1) != 0;
    }

    public boolean equals(Object other) {
        if (!(other instanceof Exclusion)) {
            return false;
        }
        PrunedIndex that = ((Exclusion) other).pruned;
        return this.pruned.snapshot.equals(that.snapshot)
                && this.pruned.isChecked == that.isChecked
                && Arrays.equals(this.pruned.excluded, that.excluded);
    }

    public int hashCode() {
        return 31 * this.pruned.snapshot.hashCode() + Arrays.hashCode(this.pruned.excluded);
    }
}
