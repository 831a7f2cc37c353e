package bloomwriter;

import bloomwriter.Protocol.PrunedIndex;
import java.util.Arrays;
import java.util.List;
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
     * Return of each file whether an index knows it, and rules it out.
     *
     * @param looks whether a file that a checked index rules out must have its listed size and time
     *     now, or on a store the ETag that the index knows
     */
    static boolean[] ruledOut(
            List<Exclusion> exclusions, List<FileStatusWithMetadata> files, boolean looks) {
        boolean[] ruledOut = new boolean[files.size()];
        WatchedFiles doubtful = new WatchedFiles();
        int[] numbers = new int[files.size()];
        int numDoubtful = 0;
        for (int i = 0; i < ruledOut.length; i++) {
            FileStatusWithMetadata file = (FileStatusWithMetadata) files.get(i);
            boolean isDoubtful = false;
            for (Exclusion exclusion : exclusions) {
                if (exclusion.isExcluded(exclusion.files.positionOf(file))) {
                    boolean isCertain = !looks || !exclusion.pruned.isChecked;
                    ruledOut[i] = ruledOut[i] || isCertain;
                    isDoubtful = isDoubtful || !exclusion.files.isOnStore();
                }
            }
            if (isDoubtful && !ruledOut[i]) {
                doubtful.add(file);
                numbers[numDoubtful++] = i;
            }
        }
        boolean[] unchanged = doubtful.unchanged();
        for (int i = 0; i < numDoubtful; i++) {
            ruledOut[numbers[i]] = unchanged[i];
        }
        for (Exclusion exclusion : exclusions) {
            if (exclusion.files.isOnStore()) {
                exclusion.ruleOutUnchanged(files, ruledOut);
            }
        }
        return ruledOut;
    }

    /** Rule out the objects that are on their store as the index knows them. */
    private void ruleOutUnchanged(List<FileStatusWithMetadata> files, boolean[] ruledOut) {
        byte[] doubtful = new byte[(this.files.count + 7) / 8];
        int[] positions = new int[ruledOut.length];
        boolean isAny = false;
        for (int i = 0; i < ruledOut.length; i++) {
            int position = this.files.positionOf((FileStatusWithMetadata) files.get(i));
            positions[i] = !ruledOut[i] && this.isExcluded(position) ? position : -1;
            if (positions[i] >= 0) {
                isAny = true;
                doubtful[position >> 3] = (byte) (doubtful[position >> 3] | 1 << (position & 7));
            }
        }
        byte[] unchanged = isAny ? this.files.unchanged(doubtful) : doubtful;
        for (int i = 0; i < ruledOut.length; i++) {
            int position = positions[i];
            if (position >= 0) {
                ruledOut[i] = (unchanged[position >> 3] >> (position & 7) & 1) != 0;
            }
        }
    }

    /** Return whether a file that is not ruled out is known; a file that was replaced is not. */
    boolean knows(FileStatusWithMetadata file) {
        int position = this.files.positionOf(file);
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
