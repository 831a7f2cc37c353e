package bloomwriter;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import org.apache.hadoop.fs.Path;

/** Files as they are now, whatever a listing of Spark's shows: it may be older than the table. */
final class LocalFiles {
    private static final LinkOption[] FOLLOWING = new LinkOption[0];

    private LocalFiles() {}

    /** Whether a file has this size and this time of modification; false if it cannot be told. */
    static boolean isUnchanged(Path path, long size, long modified) {
        try {
            java.nio.file.Path local = Paths.get(path.toUri().getPath(), new String[0]);
            BasicFileAttributes now =
                    Files.readAttributes(local, BasicFileAttributes.class, FOLLOWING);
            return now.size() == size && now.lastModifiedTime().toMillis() == modified;
        } catch (Exception error) {
            return false;
        }
    }
}
