package dev.firn.engine.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.firn.engine.CompactionPlan;
import dev.firn.engine.FileDecision;
import java.io.PrintWriter;
import org.apache.iceberg.actions.RewriteFileGroup;

/** A plan as one JSON object on one line. */
final class PlanJson {
  private PlanJson() {}

  static void print(CompactionPlan plan, PrintWriter out) {
    ObjectNode json = ReportJson.JSON.createObjectNode();
    json.put("table", plan.table());
    json.put("branch", plan.branch());
    json.put("snapshot", plan.snapshotId());
    json.put("files", plan.inputFiles());
    json.put("bytes", plan.inputBytes());
    json.set("memory", ReportJson.JSON.valueToTree(plan.memory()));
    json.put("memory_bytes_needed", plan.memoryBytesNeeded());
    json.put("scratch_bytes", plan.scratchBytes());
    ArrayNode groups = json.putArray("groups");
    for (int i = 0; i < plan.groups().size(); i++) {
      RewriteFileGroup group = plan.groups().get(i);
      ObjectNode node = groups.addObject();
      node.put("group", group.info().globalIndex());
      node.put("partition", plan.groupPartitions().get(i));
      node.put("files", group.inputFileNum());
      node.put("bytes", group.inputFilesSizeInBytes());
      node.put("expected_output_files", group.expectedOutputFiles());
      node.put("output_spec_id", group.outputSpecId());
    }
    ArrayNode files = json.putArray("data_files");
    for (FileDecision file : plan.decisions()) {
      ObjectNode node = files.addObject();
      node.put("file", file.location());
      node.put("partition", file.partition());
      node.put("spec_id", file.specId());
      node.put("bytes", file.bytes());
      node.put("rows", file.rows());
      node.put("delete_files", file.deleteFiles());
      node.put("group", file.group());
      node.put("reason", file.reason().text());
      node.put("detail", file.detail());
    }
    out.println(ReportJson.text(json));
  }
}
