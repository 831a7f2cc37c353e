package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;

/** The files of one version of an index. A file is known by path, size and time of modification. */
final class KnownFiles {
    /** The folder that relative paths start from, with a slash at its end. */
    private final String root;
    /** "size modified path" -> place in the manifest. */
    private final Map places;
    final int count;

    private KnownFiles(String root, Map places, int count) {
        this.root = root;
        this.places = places;
        this.count = count;
    }

    /** Read {"root": ..., "files": "size modified path\0size modified path\0..."}. */
    static KnownFiles of(JsonNode answer) {
        String root = answer.get("root").asText();
        String text = answer.get("files").asText();
        Map places = new HashMap();
        int count = 0;
        for (int start = 0; start < text.length();) {
            int stop = text.indexOf('\0', start);
            places.put(text.substring(start, stop), Integer.valueOf(count));
            count += 1;
            start = stop + 1;
        }
        return new KnownFiles(root.endsWith("/") ? root : root + "/", places, count);
    }

    /** Place in the manifest, or -1 if the file is not known as it is now. */
    int placeOf(Path path, long size, long modified) {
        if (!Bridge.isLocal(path)) {
            return -1;
        }
        String name = path.toUri().getPath();
        String shown = name.startsWith(this.root) ? name.substring(this.root.length()) : name;
        Integer place = (Integer) this.places.get(size + " " + modified + " " + shown);
        return place == null ? -1 : place.intValue();
    }
}
