package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.execution.datasources.FileIndex;

/**
 * The messages between the rules and the driver's Python: JSON objects, written and read only here.
 *
 * Requests are methods that return JSON; answers are classes that read JSON. The other end is
 * `rules/protocol.py`, which describes every field; both ends are tested with the same examples.
 */
final class Protocol {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Protocol() {}

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static JsonNode parse(String text) throws Exception {
        return MAPPER.readTree(text);
    }

    // Requests.

    static ObjectNode prune(Subject subject, ObjectNode condition, boolean isCaseSensitive) {
        ObjectNode request = request("prune", subject);
        request.set("condition", condition);
        return request.put("case_sensitive", isCaseSensitive);
    }

    static ObjectNode files(String snapshot) {
        return object().put("ask", "files").put("snapshot", snapshot);
    }

    static ObjectNode unchanged(String snapshot, byte[] present) {
        ObjectNode request = object().put("ask", "unchanged").put("snapshot", snapshot);
        return request.put("present", present);
    }

    static ObjectNode join(
            Subject subject, List<String> column, String type, boolean isCaseSensitive) {
        ObjectNode request = request("join", subject);
        request.set("column", texts(column));
        return request.put("type", type).put("case_sensitive", isCaseSensitive);
    }

    static ObjectNode joinFilter(
            Subject subject, String type, JoinCandidate candidate, FilesRead read) {
        ObjectNode request = request("join_filter", subject).put("type", type);
        request.put("index", candidate.index).put("snapshot", candidate.snapshot);
        request.put("indexed_column", candidate.column);
        request.put("present", read.present).put("num_unknown", read.numUnknown);
        request.set("unknown", texts(read.unknown));
        return request;
    }

    static ObjectNode setting(String name, String text) {
        return object().put("ask", "setting").put("name", name).put("text", text);
    }

    /**
     * @param usage the indexes that the decision is about; null for all indexes of the subject
     * @param reason why these indexes are not used; null if they are
     */
    static ObjectNode report(String rule, Subject subject, Usage usage, Reason reason) {
        ObjectNode request = request("report", subject).put("rule", rule);
        if (usage != null) {
            request.set("indexes", texts(usage.indexes));
            request.put("num_files", usage.numFiles).put("num_kept", usage.numKept);
            request.put("num_bytes", usage.numBytes).put("bytes_kept", usage.bytesKept);
        }
        return reason == null ? request : request.put("code", reason.code).put("why", reason.why);
    }

    private static ObjectNode request(String kind, Subject subject) {
        ObjectNode request = object().put("ask", kind).put("text", subject.text);
        request.set("roots", texts(subject.roots));
        return request;
    }

    static ArrayNode texts(List<String> list) {
        ArrayNode array = MAPPER.createArrayNode();
        for (String text : list) {
            array.add(text);
        }
        return array;
    }

    private static JsonNode field(JsonNode answer, String name) {
        JsonNode value = answer.get(name);
        if (value == null) {
            throw new IllegalStateException("an answer has no \"" + name + "\"");
        }
        return value;
    }

    /** What a request is about: a relation, and a condition on it or a join with it. */
    static final class Subject {
        /** Names of the relation's root folders and files; empty if they do not matter. */
        final List<String> roots;
        /** The condition, or the equality of a join, in SQL. */
        final String text;

        Subject(List<String> roots, String text) {
            this.roots = roots;
            this.text = text;
        }

        static Subject of(FileIndex location, String text) {
            return new Subject(Relations.rootsOf(location), text);
        }

        static Subject of(String text) {
            return new Subject(Collections.emptyList(), text);
        }
    }

    /** Why an index is not used. */
    static final class Reason {
        /** A value of Python's `Code`. */
        final String code;
        final String why;

        Reason(String code, String why) {
            this.code = code;
            this.why = why;
        }
    }

    /** The indexes that a decision is about, and the files that they leave; no files for joins. */
    static final class Usage {
        final List<String> indexes;
        final int numFiles;
        final int numKept;
        final long numBytes;
        final long bytesKept;

        Usage(List<String> indexes, int numFiles, int numKept, long numBytes, long bytesKept) {
            this.indexes = indexes;
            this.numFiles = numFiles;
            this.numKept = numKept;
            this.numBytes = numBytes;
            this.bytesKept = bytesKept;
        }

        static Usage ofJoin(String index) {
            return new Usage(Collections.singletonList(index), 0, 0, 0, 0);
        }
    }

    // Answers.

    /** The answer to `prune`. */
    static final class PruneAnswer {
        final List<PrunedIndex> indexes = new ArrayList<PrunedIndex>();

        PruneAnswer(JsonNode answer) throws Exception {
            for (JsonNode index : field(answer, "indexes")) {
                this.indexes.add(new PrunedIndex(index));
            }
        }
    }

    /** The files that one index rules out. */
    static final class PrunedIndex {
        final String name;
        final String snapshot;
        final boolean isChecked;
        /** One bit for each file of the manifest, the lowest bit of the first byte first. */
        final byte[] excluded;

        PrunedIndex(JsonNode index) throws Exception {
            this.name = field(index, "name").asText();
            this.snapshot = field(index, "snapshot").asText();
            this.isChecked = field(index, "checked").asBoolean();
            this.excluded = field(index, "excluded").binaryValue();
        }
    }

    /** The answer to `files`: the files of one snapshot of an index. */
    static final class FilesAnswer {
        final String root;
        /** "size modified path", each followed by the character 0; modified in milliseconds. */
        final String files;

        FilesAnswer(JsonNode answer) {
            this.root = field(answer, "root").asText();
            this.files = field(answer, "files").asText();
        }
    }

    /** The answer to `unchanged`: objects that are as the snapshot knows them. */
    static final class UnchangedAnswer {
        /** One bit for each file of the manifest, the lowest bit of the first byte first. */
        final byte[] unchanged;

        UnchangedAnswer(JsonNode answer) throws Exception {
            this.unchanged = field(answer, "unchanged").binaryValue();
        }
    }

    /** The answer to `join`: indexes of the key. */
    static final class JoinAnswer {
        final List<JoinCandidate> candidates = new ArrayList<JoinCandidate>();

        JoinAnswer(JsonNode answer) {
            for (JsonNode candidate : field(answer, "candidates")) {
                this.candidates.add(new JoinCandidate(candidate));
            }
        }
    }

    /** An index that might have a filter for a join. */
    static final class JoinCandidate {
        final String name;
        /** The index's folder. */
        final String index;
        final String snapshot;
        final boolean isChecked;
        /** The index's name of the key's column. */
        final String column;

        JoinCandidate(JsonNode candidate) {
            this.name = field(candidate, "name").asText();
            this.index = field(candidate, "index").asText();
            this.snapshot = field(candidate, "snapshot").asText();
            this.isChecked = field(candidate, "checked").asBoolean();
            this.column = field(candidate, "column").asText();
        }
    }

    /** The answer to `join_filter`. */
    static final class JoinFilterAnswer {
        /** Null if the index has no filter for the files that are read. */
        final JoinFilter filter;

        JoinFilterAnswer(JsonNode answer) {
            JsonNode filter = field(answer, "filter");
            this.filter = filter.isNull() ? null : new JoinFilter(filter);
        }
    }

    /** A filter in a local file, and how keys are looked up in it. */
    static final class JoinFilter {
        final String id;
        /** Shown by explain(). */
        final String text;
        final String path;
        /** Of the bitset from the start of the file, bytes. */
        final long offset;
        /** Of the bitset. */
        final int numBytes;
        /** Share of absent keys that pass, in [0, 1]. */
        final double fpp;
        /** "plain", "decimal32" or "decimal64": what is hashed of a key. */
        final String mode;
        /** Keys below are not looked up: days or microseconds since 1970. Null if all keys are. */
        final Long cutoff;

        JoinFilter(JsonNode filter) {
            this.id = field(filter, "id").asText();
            this.text = field(filter, "text").asText();
            this.path = field(filter, "path").asText();
            this.offset = field(filter, "offset").asLong();
            this.numBytes = field(filter, "num_bytes").asInt();
            this.fpp = field(filter, "fpp").asDouble();
            this.mode = field(filter, "mode").asText();
            JsonNode cutoff = field(filter, "cutoff");
            this.cutoff = cutoff.isNull() ? null : Long.valueOf(cutoff.asLong());
        }
    }

    /** The answer to `setting`: what its text means. */
    static final class SettingAnswer {
        final double value;

        SettingAnswer(JsonNode answer) {
            this.value = field(answer, "value").asDouble();
        }
    }
}
