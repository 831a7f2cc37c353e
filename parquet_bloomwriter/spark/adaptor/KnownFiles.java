package bloomwriter;

import bloomwriter.Protocol.FilesAnswer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/**
 * The files of one snapshot of an index. A file is known by path, size and time of modification.
 *
 * An object on a store is known by its ETag as well, which Spark does not list: Python compares it. Of
 * its time, whole seconds count, as some answers of stores have no more.
 */
final class KnownFiles {
    private static final int MS_PER_S = 1000;

    /** The folder that relative paths start from, with a slash at its end. */
    private final String root;
    /** Path -> position in the manifest, 0-based. */
    private final Map<String, Integer> positions;
    /** By position, bytes. */
    private final long[] sizes;
    /** By position, milliseconds since 1970. */
    private final long[] modified;
    final int count;
    private final Bridge bridge;
    private final String snapshot;

    private KnownFiles(FilesAnswer answer, int count, Bridge bridge, String snapshot) {
        this.bridge = bridge;
        this.snapshot = snapshot;
        this.root = answer.root.endsWith("/") ? answer.root : answer.root + "/";
        this.positions = new HashMap<String, Integer>(2 * count);
        this.sizes = new long[count];
        this.modified = new long[count];
        this.count = count;
    }

    static KnownFiles of(FilesAnswer answer, Bridge bridge, String snapshot) {
        String text = answer.files;
        int count = 0;
        for (int stop = text.indexOf('\0'); stop >= 0; stop = text.indexOf('\0', stop + 1)) {
            count += 1;
        }
        KnownFiles files = new KnownFiles(answer, count, bridge, snapshot);
        int start = 0;
        for (int position = 0; position < files.count; position++) {
            int size = text.indexOf(' ', start);
            int modified = text.indexOf(' ', size + 1);
            int stop = text.indexOf('\0', modified);
            files.sizes[position] = Long.parseLong(text.substring(start, size));
            files.modified[position] = Long.parseLong(text.substring(size + 1, modified));
            files.positions.put(text.substring(modified + 1, stop), Integer.valueOf(position));
            start = stop + 1;
        }
        return files;
    }

    /** Return the position in the manifest, or -1 if no file is known with this size and time. */
    int positionOf(FileStatusWithMetadata file) {
        String name = Relations.nameOf(file.getPath());
        if (name == null) {
            return -1;
        }
        String shown = name.startsWith(this.root) ? name.substring(this.root.length()) : name;
        Integer found = (Integer) this.positions.get(shown);
        if (found == null) {
            return -1;
        }
        int position = found.intValue();
        long unit = Relations.isOnStore(name) ? MS_PER_S : 1;
        boolean isSame =
                this.sizes[position] == file.getLen()
                        && this.modified[position] / unit == file.getModificationTime() / unit;
        return isSame ? position : -1;
    }

    /** Return whether files below the root are objects on a store. */
    boolean isOnStore() {
        return Relations.isOnStore(this.root);
    }

    /**
     * Ask which objects are on their store now as the snapshot knows them.
     *
     * @param present the files that are asked about: one bit for each, the lowest of a byte first
     * @return bits of the same kind; none if Python cannot be asked
     */
    byte[] unchanged(byte[] present) {
        byte[] unchanged = new byte[present.length];
        try {
            byte[] found = this.bridge.unchanged(this.snapshot, present);
            for (int i = 0; i < Math.min(found.length, unchanged.length); i++) {
                unchanged[i] = (byte) (found[i] & present[i]);
            }
        } catch (Exception error) {
            this.bridge.failed("look at objects", error);
        }
        return unchanged;
    }
}
