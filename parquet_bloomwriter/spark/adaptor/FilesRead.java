package bloomwriter;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/** The files that the indexed side of a join reads, compared with the files of a snapshot. */
final class FilesRead {
    private static final int MAX_UNKNOWN = 1000;

    /** One bit for each file of the snapshot, the lowest bit of the first byte first. */
    final byte[] present;
    /** Local paths of files that the snapshot does not have, at most 1,000. */
    final List<String> unknown;
    /** Number of all files that the snapshot does not have. */
    final int numUnknown;
    /** Files that must not change as long as the filter is used; empty by contract `immutable`. */
    final WatchedFiles watched;

    FilesRead(byte[] present, List<String> unknown, int numUnknown, WatchedFiles watched) {
        this.present = present;
        this.unknown = unknown;
        this.numUnknown = numUnknown;
        this.watched = watched;
    }

    /**
     * @param isChecked whether a file counts as known only if it has its listed size and time now
     */
    static FilesRead of(FileIndex location, KnownFiles known, boolean isChecked) {
        byte[] present = new byte[(known.count + 7) / 8];
        List<String> unknown = new ArrayList<String>();
        WatchedFiles watched = new WatchedFiles();
        int numUnknown = 0;
        List<FileStatusWithMetadata> files = Relations.files(location);
        WatchedFiles listed = new WatchedFiles();
        if (isChecked) {
            for (FileStatusWithMetadata file : files) {
                if (known.positionOf(file) >= 0 && !known.isOnStore()) {
                    listed.add(file);
                }
            }
        }
        boolean[] unchanged = listed.unchanged();
        byte[] onStore = isChecked && known.isOnStore() ? objects(files, known) : present;
        int numListed = 0;
        for (FileStatusWithMetadata file : files) {
            Path path = file.getPath();
            int position = known.positionOf(file);
            boolean isKnown = position >= 0;
            if (isKnown && isChecked) {
                isKnown =
                        known.isOnStore()
                                ? (onStore[position >> 3] >> (position & 7) & 1) != 0
                                : unchanged[numListed++];
            }
            if (isKnown) {
                present[position >> 3] = (byte) (present[position >> 3] | 1 << (position & 7));
            } else {
                numUnknown += 1;
                if (numUnknown <= MAX_UNKNOWN && Relations.isLocal(path)) {
                    unknown.add(path.toUri().getPath());
                }
            }
            if (isChecked && isKnown && !known.isOnStore()) {
                watched.add(file);
            } else if (isChecked && !isKnown) { // an object that is not known is never unchanged
                watched.addAsItIs(path);
            }
        }
        if (isChecked && known.isOnStore()) {
            watched.addObjects(known, present);
        }
        return new FilesRead(present, unknown, numUnknown, watched);
    }

    /** Return which of the files are on their store as the snapshot knows them, as bits. */
    private static byte[] objects(List<FileStatusWithMetadata> files, KnownFiles known) {
        byte[] listed = new byte[(known.count + 7) / 8];
        for (FileStatusWithMetadata file : files) {
            int position = known.positionOf(file);
            if (position >= 0) {
                listed[position >> 3] = (byte) (listed[position >> 3] | 1 << (position & 7));
            }
        }
        return known.unchanged(listed);
    }
}
