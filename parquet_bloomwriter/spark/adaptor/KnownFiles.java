package bloomwriter;

import bloomwriter.Protocol.FilesAnswer;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/** The files of one snapshot of an index. A file is known by path, size and time of modification. */
final class KnownFiles {
    /** The folder that relative paths start from, with a slash at its end. */
    private final String root;
    /** Path -> position in the manifest, 0-based. */
    private final Map<String, Integer> positions;
    /** By position, bytes. */
    private final long[] sizes;
    /** By position, milliseconds since 1970. */
    private final long[] modified;
    final int count;

    private KnownFiles(FilesAnswer answer, int count) {
        this.root = answer.root.endsWith("/") ? answer.root : answer.root + "/";
        this.positions = new HashMap<String, Integer>(2 * count);
        this.sizes = new long[count];
        this.modified = new long[count];
        this.count = count;
    }

    static KnownFiles of(FilesAnswer answer) {
        String text = answer.files;
        int count = 0;
        for (int stop = text.indexOf('\0'); stop >= 0; stop = text.indexOf('\0', stop + 1)) {
            count += 1;
        }
        KnownFiles files = new KnownFiles(answer, count);
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
        Path path = file.getPath();
        if (!Relations.isLocal(path)) {
            return -1;
        }
        String name = path.toUri().getPath();
        String shown = name.startsWith(this.root) ? name.substring(this.root.length()) : name;
        Integer found = (Integer) this.positions.get(shown);
        if (found == null) {
            return -1;
        }
        int position = found.intValue();
        boolean isSame =
                this.sizes[position] == file.getLen()
                        && this.modified[position] == file.getModificationTime();
        return isSame ? position : -1;
    }
}
