package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.Seq;

/** Takes files out of relations that cannot hold what a filter right above them asks for. */
public final class PushDownBFIndexRule extends Rule {
    static final String NAME = "PushDownBFIndexRule";
    private final Bridge bridge;

    public PushDownBFIndexRule(Bridge bridge) {
        this.bridge = bridge;
    }

    public TreeNode apply(TreeNode plan) {
        if (!this.bridge.isOn()) {
            return plan;
        }
        try {
            return new Pruning(this).ofQuery((LogicalPlan) plan);
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return plan;
        }
    }

    /** The filter over the fewer files; the filter itself if there is nothing to take out. */
    Filter pruned(Filter filter) {
        LogicalRelation leaf = (LogicalRelation) filter.child();
        HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
        try {
            String problem = Relations.problem(relation);
            FileIndex all = problem == null ? Relations.pinned(relation.location()) : null;
            ObjectNode request = Bridge.request("prune", all == null ? relation.location() : all);
            request.put("text", filter.condition().sql());
            if (problem != null) {
                this.bridge.explain(request, NAME, Relations.UNSUPPORTED, problem);
                return filter;
            }
            ObjectNode condition = new Conditions(relation).of(filter.condition());
            if (condition == null) {
                String why = "no column is compared with literals by =, <=> or IN";
                this.bridge.explain(request, NAME, "NO_USABLE_CONDITION", why);
                return filter;
            }
            request.set("condition", condition);
            request.put("case_sensitive", filter.conf().caseSensitiveAnalysis());
            JsonNode answer = this.bridge.ask(request);
            List exclusions = this.exclusions(answer.get("indexes"));
            if (exclusions.isEmpty()) {
                return filter;
            }
            ObjectNode report = Bridge.JSON.createObjectNode();
            report.setAll(request);
            boolean isHybrid = answer.get("hybrid").asBoolean();
            boolean looks = !isHybrid || this.bridge.isTraced(); // else the scan does, later
            FileIndex fewer = withoutExcluded(all, exclusions, looks, report);
            boolean isChanged = report.get("num_unknown").asInt() > 0;
            if (isChanged && !isHybrid) {
                String why = "files were added since, and hybrid scans are switched off";
                this.bridge.explain(report, NAME, "SOURCE_DATA_CHANGED", why);
                return filter;
            }
            report.put("rule", NAME);
            this.bridge.report(report);
            Filter pruned = filter.copy(filter.condition(), Relations.with(leaf, fewer));
            pruned.copyTagsFrom(filter);
            return pruned;
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return filter;
        }
    }

    private List exclusions(JsonNode indexes) throws Exception {
        List exclusions = new ArrayList();
        for (int i = 0; i < indexes.size(); i++) {
            JsonNode index = (JsonNode) indexes.get(i);
            String snapshot = index.get("snapshot").asText();
            byte[] excluded = Base64.getDecoder().decode(index.get("excluded").asText());
            KnownFiles files = this.bridge.files(snapshot);
            if (8 * excluded.length < files.count) {
                throw new IllegalStateException("an answer is about fewer files than there are");
            }
            String name = index.get("name").asText();
            boolean isChecked = index.get("checked").asBoolean();
            exclusions.add(new Exclusion(name, snapshot, files, excluded, isChecked));
        }
        return exclusions;
    }

    private static FileIndex withoutExcluded(
            FileIndex all, List exclusions, boolean looks, ObjectNode report) {
        int files = 0;
        int kept = 0;
        int unknown = 0;
        long bytes = 0;
        long bytesKept = 0;
        scala.collection.immutable.Seq none = Scala.seq(new ArrayList());
        for (scala.collection.Iterator i = all.listFiles(none, none).iterator(); i.hasNext();) {
            Seq found = ((PartitionDirectory) i.next()).files();
            for (scala.collection.Iterator j = found.iterator(); j.hasNext();) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) j.next();
                files += 1;
                bytes += file.getLen();
                if (!PrunedFileIndex.rulesOut(exclusions, file, looks)) {
                    kept += 1;
                    bytesKept += file.getLen();
                    unknown += PrunedFileIndex.isKnown(exclusions, file) ? 0 : 1;
                }
            }
        }
        report.put("num_files", files);
        report.put("num_kept", kept);
        report.put("num_unknown", unknown);
        report.put("num_bytes", bytes);
        report.put("bytes_kept", bytesKept);
        ArrayNode names = report.putArray("indexes");
        for (int i = 0; i < exclusions.size(); i++) {
            names.add(((Exclusion) exclusions.get(i)).index);
        }
        return new PrunedFileIndex(all, exclusions, bytesKept);
    }

    private void leave(Filter filter) {
        HadoopFsRelation relation =
                (HadoopFsRelation) ((LogicalRelation) filter.child()).relation();
        ObjectNode about = Bridge.request("prune", relation.location());
        about.put("text", filter.condition().sql());
        this.bridge.explain(about, NAME, PlanRewriter.CODE, PlanRewriter.WHY);
    }

    /** Prunes the relations right below filters. */
    private static final class Pruning extends PlanRewriter {
        private final PushDownBFIndexRule rule;

        Pruning(PushDownBFIndexRule rule) {
            this.rule = rule;
        }

        LogicalPlan rewritten(LogicalPlan node) {
            return isPrunable(node) ? this.rule.pruned((Filter) node) : node;
        }

        void leave(LogicalPlan node) {
            if (isPrunable(node)) {
                this.rule.leave((Filter) node);
            }
        }

        private static boolean isPrunable(LogicalPlan node) {
            if (!(node instanceof Filter)) {
                return false;
            }
            LogicalPlan child = ((Filter) node).child();
            return child instanceof LogicalRelation && Relations.isIndexable((LogicalRelation) child);
        }
    }
}
