package bloomwriter;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/**
 * Files with their sizes and times of modification, to find out later whether one changed. Objects on
 * a store have ETags, which only Python knows: it is asked.
 */
final class WatchedFiles {
    private static final long GONE = -1;
    /** So many files are worth the start of other threads. */
    private static final int MANY = 128;

    private final List<State> states = new ArrayList<State>();
    /** The files that objects belong to; null without objects. */
    private KnownFiles known;
    /** Which of them are watched, as bits. */
    private byte[] objects = new byte[0];

    /** Add a file with its listed size and time of modification. */
    void add(FileStatusWithMetadata file) {
        this.add(file.getPath(), file.getLen(), file.getModificationTime());
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

    /** Add objects of one snapshot, as it knows them: one bit for each file of the snapshot. */
    void addObjects(KnownFiles known, byte[] present) {
        this.known = known;
        this.objects = present;
    }

    /** Return whether all files are as they were added. */
    boolean areUnchanged() {
        for (boolean isUnchanged : this.unchanged()) {
            if (!isUnchanged) {
                return false;
            }
        }
        return this.known == null || Arrays.equals(this.known.unchanged(this.objects), this.objects);
    }

    /**
     * Return of each local file, in the order added, whether it has the size and time that it was added with;
     * false if the file cannot be looked at. Many files are looked at on all cores.
     */
    boolean[] unchanged() {
        Look look = new Look(this.states);
        int[] found = new int[this.states.size()];
        if (found.length >= MANY) {
            Arrays.parallelSetAll(found, look);
        } else {
            Arrays.setAll(found, look);
        }
        boolean[] unchanged = new boolean[found.length];
        for (int i = 0; i < found.length; i++) {
            unchanged[i] = found[i] == 1;
        }
        return unchanged;
    }

    private void add(Path path, long size, long modified) {
        this.states.add(new State(path, size, modified));
    }

    private static BasicFileAttributes attributes(Path path) throws Exception {
        if (!Relations.isLocal(path)) {
            throw new IllegalArgumentException(path + " is not on a disk");
        }
        java.nio.file.Path local = Paths.get(path.toUri().getPath(), new String[0]);
        return Files.readAttributes(local, BasicFileAttributes.class, new LinkOption[0]);
    }

    /** Looks at the file of a number: 1 if it is unchanged, 0 if not. */
    private static final class Look implements IntUnaryOperator {
        private final List<State> states;

        Look(List<State> states) {
            this.states = states;
        }

        public int applyAsInt(int number) {
            return ((State) this.states.get(number)).isUnchanged() ? 1 : 0;
        }
    }

    public boolean equals(Object other) {
        if (!(other instanceof WatchedFiles)) {
            return false;
        }
        WatchedFiles that = (WatchedFiles) other;
        boolean areSameObjects =
                this.known == that.known && Arrays.equals(this.objects, that.objects);
        return areSameObjects && this.states.equals(that.states);
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

        boolean isUnchanged() {
            try {
                BasicFileAttributes now = attributes(this.path);
                return now.size() == this.size
                        && now.lastModifiedTime().toMillis() == this.modified;
            } catch (Exception error) {
                return false;
            }
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
