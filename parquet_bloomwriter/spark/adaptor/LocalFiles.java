package bloomwriter;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** Files in one state each, to be looked at later, whatever a listing of Spark's shows by then. */
final class LocalFiles {
    private static final LinkOption[] FOLLOWING = new LinkOption[0];
    private static final long GONE = -1;

    private final List paths = new ArrayList();
    private final List sizes = new ArrayList();
    private final List times = new ArrayList();

    /** Add a file with this size and this time of modification. */
    void add(Path path, long size, long modified) {
        this.paths.add(path);
        this.sizes.add(Long.valueOf(size));
        this.times.add(Long.valueOf(modified));
    }

    /** Add a file as it is now. */
    void addAsItIs(Path path) {
        try {
            BasicFileAttributes now = look(path);
            this.add(path, now.size(), now.lastModifiedTime().toMillis());
        } catch (Exception error) {
            this.add(path, GONE, GONE);
        }
    }

    /** Whether all files are still what they were when they were added. */
    boolean areUnchanged() {
        for (int i = 0; i < this.paths.size(); i++) {
            long size = ((Long) this.sizes.get(i)).longValue();
            long modified = ((Long) this.times.get(i)).longValue();
            if (!isUnchanged((Path) this.paths.get(i), size, modified)) {
                return false;
            }
        }
        return true;
    }

    /** Whether a file has this size and this time of modification; false if it cannot be told. */
    static boolean isUnchanged(Path path, long size, long modified) {
        try {
            BasicFileAttributes now = look(path);
            return now.size() == size && now.lastModifiedTime().toMillis() == modified;
        } catch (Exception error) {
            return false;
        }
    }

    private static BasicFileAttributes look(Path path) throws Exception {
        java.nio.file.Path local = Paths.get(path.toUri().getPath(), new String[0]);
        return Files.readAttributes(local, BasicFileAttributes.class, FOLLOWING);
    }

    public boolean equals(Object other) {
        if (!(other instanceof LocalFiles)) {
            return false;
        }
        LocalFiles that = (LocalFiles) other;
        return this.paths.equals(that.paths)
                && this.sizes.equals(that.sizes)
                && this.times.equals(that.times);
    }

    public int hashCode() {
        return 31 * this.paths.hashCode() + this.times.hashCode();
    }
}
