package bloomwriter;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** Local files with their sizes and times of modification, to find out later whether one changed. */
final class LocalFiles {
    private static final long GONE = -1;

    private final List<State> states = new ArrayList<State>();

    /** Add a file with this size in bytes and this time of modification in milliseconds. */
    void add(Path path, long size, long modified) {
        this.states.add(new State(path, size, modified));
    }

    /** Add a file with its present size and time of modification. */
    void addAsItIs(Path path) {
        try {
            BasicFileAttributes now = attributes(path);
            this.add(path, now.size(), now.lastModifiedTime().toMillis());
        } catch (Exception error) {
            this.add(path, GONE, GONE);
        }
    }

    /** Return whether all files have the sizes and times that they were added with. */
    boolean areUnchanged() {
        for (State state : this.states) {
            if (!isUnchanged(state.path, state.size, state.modified)) {
                return false;
            }
        }
        return true;
    }

    /** Return whether a file has this size and time; false if the file cannot be looked at. */
    static boolean isUnchanged(Path path, long size, long modified) {
        try {
            BasicFileAttributes now = attributes(path);
            return now.size() == size && now.lastModifiedTime().toMillis() == modified;
        } catch (Exception error) {
            return false;
        }
    }

    private static BasicFileAttributes attributes(Path path) throws Exception {
        java.nio.file.Path local = Paths.get(path.toUri().getPath(), new String[0]);
        return Files.readAttributes(local, BasicFileAttributes.class, new LinkOption[0]);
    }

    public boolean equals(Object other) {
        return other instanceof LocalFiles && this.states.equals(((LocalFiles) other).states);
    }

    public int hashCode() {
        return this.states.hashCode();
    }

    private static final class State {
        final Path path;
        final long size;
        final long modified;

        State(Path path, long size, long modified) {
            this.path = path;
            this.size = size;
            this.modified = modified;
        }

        public boolean equals(Object other) {
            if (!(other instanceof State)) {
                return false;
            }
            State that = (State) other;
            boolean isSameState = this.size == that.size && this.modified == that.modified;
            return isSameState && this.path.equals(that.path);
        }

        public int hashCode() {
            return 31 * this.path.hashCode() + Long.hashCode(this.modified);
        }
    }
}
