package bloomwriter;

import bloomwriter.Protocol.FilesAnswer;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;

/** The files of one snapshot of an index. A file is known by path, size and time of modification. */
final class KnownFiles {
    /** The folder that relative paths start from, with a slash at its end. */
    private final String root;
    /** "size modified path" -> position in the manifest, 0-based. */
    private final Map<String, Integer> positions;
    final int count;

    private KnownFiles(String root, Map<String, Integer> positions, int count) {
        this.root = root;
        this.positions = positions;
        this.count = count;
    }

    static KnownFiles of(FilesAnswer answer) {
        Map<String, Integer> positions = new HashMap<String, Integer>();
        String text = answer.files;
        int count = 0;
        for (int start = 0; start < text.length();) {
            int stop = text.indexOf('\0', start);
            positions.put(text.substring(start, stop), Integer.valueOf(count));
            count += 1;
            start = stop + 1;
        }
        String root = answer.root;
        return new KnownFiles(root.endsWith("/") ? root : root + "/", positions, count);
    }

    /** Return the position in the manifest, or -1 if no file is known with this size and time. */
    int positionOf(Path path, long size, long modified) {
        if (!Relations.isLocal(path)) {
            return -1;
        }
        String name = path.toUri().getPath();
        String shown = name.startsWith(this.root) ? name.substring(this.root.length()) : name;
        Integer position = (Integer) this.positions.get(size + " " + modified + " " + shown);
        return position == null ? -1 : position.intValue();
    }
}
