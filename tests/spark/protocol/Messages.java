package bloomwriter;

import bloomwriter.Protocol.FilesAnswer;
import bloomwriter.Protocol.JoinAnswer;
import bloomwriter.Protocol.JoinCandidate;
import bloomwriter.Protocol.JoinFilter;
import bloomwriter.Protocol.JoinFilterAnswer;
import bloomwriter.Protocol.PruneAnswer;
import bloomwriter.Protocol.PrunedIndex;
import bloomwriter.Protocol.Reason;
import bloomwriter.Protocol.SettingAnswer;
import bloomwriter.Protocol.Subject;
import bloomwriter.Protocol.UnchangedAnswer;
import bloomwriter.Protocol.Usage;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The examples of messages.json: the requests as the rules write them, the answers as they read them. */
public final class Messages {
    private Messages() {}

    /** Return the requests, by name. */
    public static String requests() throws Exception {
        JsonNode candidate =
                Protocol.parse(
                        "{\"name\": \"ids\", \"index\": \"/i/ids\", \"snapshot\": \"5f\", \"checked\": true,"
                                + " \"column\": \"s.x\"}");
        List<String> root = Collections.singletonList("/t");
        Subject filter = new Subject(Arrays.asList(new String[] {"/t", "/u/part 1"}), "(id = 5)");
        Subject join = new Subject(root, "id = k");
        List<String> path = Arrays.asList(new String[] {"s", "x"});
        JsonNode condition =
                Protocol.parse(
                        "{\"and\": [{\"in\": [\"s\", \"x\"], \"type\": \"long\","
                                + " \"values\": [\"1\", \"2\"]}, {\"in\": [\"name\"],"
                                + " \"type\": \"string\", \"values\": [\"w6k=\"]}]}");
        FilesRead read =
                new FilesRead(
                        new byte[] {5, 2},
                        Collections.singletonList("/t/new.parquet"),
                        2,
                        new WatchedFiles());
        Usage usage =
                new Usage(Arrays.asList(new String[] {"ids", "names"}), 4, 1, 5000000000L, 1000L);
        ObjectNode all = Protocol.object();
        all.set("prune", Protocol.prune(filter, (ObjectNode) condition, true));
        all.set("files", Protocol.files("5f"));
        all.set("unchanged", Protocol.unchanged("5f", new byte[] {5, 2}));
        all.set("join", Protocol.join(join, path, "decimal(9,2)", false));
        all.set(
                "join_filter",
                Protocol.joinFilter(join, "decimal(9,2)", new JoinCandidate(candidate), read));
        all.set("setting", Protocol.setting("spark.bloomwriter.join.minBytes", "10MB"));
        all.set(
                "report of use",
                Protocol.report("PushDownBFIndexRule", new Subject(root, "(id = 5)"), usage, null));
        Reason reason = new Reason("NOT_ELIGIBLE_JOIN", "one side is going to be broadcast");
        all.set(
                "report of no use",
                Protocol.report("JoinBFIndexRule", Subject.of(""), null, reason));
        return all.toString();
    }

    /** Read an answer, and return its fields as JSON. */
    public static String read(String kind, String text) throws Exception {
        JsonNode answer = Protocol.parse(text);
        ObjectNode found = Protocol.object();
        if (kind.equals("prune")) {
            PruneAnswer prune = new PruneAnswer(answer);
            found.putArray("indexes");
            for (PrunedIndex index : prune.indexes) {
                ObjectNode fields = Protocol.object().put("name", index.name);
                fields.put("snapshot", index.snapshot).put("checked", index.isChecked);
                found.withArray("indexes").add(fields.put("excluded", index.excluded));
            }
        } else if (kind.equals("files")) {
            FilesAnswer files = new FilesAnswer(answer);
            found.put("root", files.root).put("files", files.files);
        } else if (kind.equals("unchanged")) {
            found.put("unchanged", new UnchangedAnswer(answer).unchanged);
        } else if (kind.equals("join")) {
            found.putArray("candidates");
            for (JoinCandidate candidate : new JoinAnswer(answer).candidates) {
                ObjectNode fields = Protocol.object().put("name", candidate.name);
                fields.put("index", candidate.index).put("snapshot", candidate.snapshot);
                fields.put("checked", candidate.isChecked);
                found.withArray("candidates").add(fields.put("column", candidate.column));
            }
        } else if (kind.equals("join_filter")) {
            JoinFilter filter = new JoinFilterAnswer(answer).filter;
            if (filter == null) {
                found.putNull("filter");
            } else {
                ObjectNode fields = found.putObject("filter").put("id", filter.id);
                fields.put("text", filter.text).put("path", filter.path);
                fields.put("offset", filter.offset).put("num_bytes", filter.numBytes);
                fields.put("fpp", filter.fpp).put("mode", filter.mode).put("cutoff", filter.cutoff);
            }
        } else if (kind.equals("setting")) {
            found.put("value", new SettingAnswer(answer).value);
        }
        return found.toString();
    }
}
