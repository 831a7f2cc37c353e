package bloomwriter;

import bloomwriter.Protocol.PrunedIndex;
import bloomwriter.Protocol.Reason;
import bloomwriter.Protocol.Subject;
import bloomwriter.Protocol.Usage;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Takes files out of relations that hold no row for the filter right above the relation. */
public final class PushDownBFIndexRule extends Rule<TreeNode<?>> {
    static final String NAME = "PushDownBFIndexRule";
    private final Bridge bridge;
    private final String hybrid;
    private final String defaultHybrid;

    /**
     * @param hybrid name of the setting; whether indexes are used for tables whose files have changed
     * @param defaultHybrid the setting's value where it is not set
     */
    public PushDownBFIndexRule(Bridge bridge, String hybrid, String defaultHybrid) {
        this.bridge = bridge;
        this.hybrid = hybrid;
        this.defaultHybrid = defaultHybrid;
    }

    public TreeNode<?> apply(TreeNode<?> plan) {
        if (!this.bridge.isOn()) {
            return plan;
        }
        try {
            return new Pruner(this).ofQuery((LogicalPlan) plan);
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return plan;
        }
    }

    /** Return the filter over fewer files; the filter itself if no file can be taken out. */
    Filter pruned(Filter filter) {
        try {
            return this.prunedByIndexes(filter);
        } catch (Throwable error) {
            this.bridge.failed(NAME, error);
            return filter;
        }
    }

    private Filter prunedByIndexes(Filter filter) throws Exception {
        LogicalRelation leaf = (LogicalRelation) filter.child();
        HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
        String text = filter.condition().sql();
        String problem = Relations.problem(relation);
        if (problem != null) {
            Subject whole = Subject.of(relation.location(), text);
            this.bridge.explain(NAME, whole, new Reason(Relations.UNSUPPORTED, problem));
            return filter;
        }
        FileIndex all = Relations.pinned(relation.location());
        Subject subject = Subject.of(all, text);
        ObjectNode condition = new Conditions(relation).of(filter.condition());
        if (condition == null) {
            String why = "no column is compared with literals by =, <=> or IN";
            this.bridge.explain(NAME, subject, new Reason("NO_USABLE_CONDITION", why));
            return filter;
        }
        boolean isCaseSensitive = filter.conf().caseSensitiveAnalysis();
        List<PrunedIndex> indexes = this.bridge.prune(subject, condition, isCaseSensitive);
        if (indexes.isEmpty()) {
            return filter;
        }
        List<Exclusion> exclusions = this.exclusions(indexes);
        String hybridNow = filter.conf().getConfString(this.hybrid, this.defaultHybrid);
        boolean isHybrid = this.bridge.flag(this.hybrid, hybridNow);
        boolean looks = !isHybrid || this.bridge.isTraced(); // else the scan looks later
        Remaining remaining = new Remaining(all, exclusions, looks);
        if (remaining.numUnknown > 0 && !isHybrid) {
            String why = "files were added since, and hybrid scans are switched off";
            Reason reason = new Reason("SOURCE_DATA_CHANGED", why);
            this.bridge.report(NAME, subject, remaining.usage(), reason);
            return filter;
        }
        this.bridge.reportUse(NAME, subject, remaining.usage());
        FileIndex fewer = new PrunedFileIndex(all, exclusions, remaining.bytesKept);
        Filter pruned = filter.copy(filter.condition(), Relations.with(leaf, fewer));
        pruned.copyTagsFrom(filter);
        return pruned;
    }

    private List<Exclusion> exclusions(List<PrunedIndex> indexes) throws Exception {
        List<Exclusion> exclusions = new ArrayList<Exclusion>();
        for (PrunedIndex index : indexes) {
            exclusions.add(new Exclusion(index, this.bridge.files(index.snapshot)));
        }
        return exclusions;
    }

    private void leave(Filter filter) {
        HadoopFsRelation relation =
                (HadoopFsRelation) ((LogicalRelation) filter.child()).relation();
        Subject subject = Subject.of(relation.location(), filter.condition().sql());
        this.bridge.explain(NAME, subject, PlanRewriter.DEPENDS_ON_PLACE);
    }

    /** Counts of files before and after exclusions. */
    private static final class Remaining {
        final List<String> indexes = new ArrayList<String>();
        int numFiles;
        int numKept;
        int numUnknown;
        long numBytes;
        long bytesKept;

        Remaining(FileIndex all, List<Exclusion> exclusions, boolean looks) {
            for (Exclusion exclusion : exclusions) {
                this.indexes.add(exclusion.index());
            }
            List<FileStatusWithMetadata> files = Relations.files(all);
            boolean[] ruledOut = Exclusion.ruledOut(exclusions, files, looks);
            for (int i = 0; i < ruledOut.length; i++) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) files.get(i);
                this.numFiles += 1;
                this.numBytes += file.getLen();
                if (!ruledOut[i]) {
                    this.numKept += 1;
                    this.bytesKept += file.getLen();
                    this.numUnknown += PrunedFileIndex.isKnown(exclusions, file) ? 0 : 1;
                }
            }
        }

        Usage usage() {
            return new Usage(
                    this.indexes, this.numFiles, this.numKept, this.numBytes, this.bytesKept);
        }
    }

    /** Prunes the relations right below filters. */
    private static final class Pruner extends PlanRewriter {
        private final PushDownBFIndexRule rule;

        Pruner(PushDownBFIndexRule rule) {
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
