#include "cli/commands/import_diff.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/text/failure.h"

namespace subak::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kLinesShown = 40;

// Returns the text of one value that is not a list: "8", or "key=value=NoSchedule" for a record.
std::string value_text(const Message& message, const FieldDescriptor& field);

std::string record_text(const Message& record) {
  std::string text;
  const auto* descriptor = record.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const std::string value = value_text(record, *descriptor->field(i));
    if (!value.empty()) text += (text.empty() ? "" : "=") + value;
  }
  return text;
}

std::string value_text(const Message& message, const FieldDescriptor& field) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return r.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(r.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(r.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.GetBool(message, &field) ? "true" : "false";
    default:
      return "";
  }
}

std::string field_text(const Message& message, const FieldDescriptor& field) {
  if (!field.is_repeated()) return value_text(message, field);
  std::vector<std::string> items;
  const Reflection& r = *message.GetReflection();
  const int size = r.FieldSize(message, &field);
  items.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    items.push_back(text ? r.GetRepeatedString(message, &field, i)
                         : record_text(r.GetRepeatedMessage(message, &field, i)));
  }
  std::sort(items.begin(), items.end());
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text;
}

// True if the diff shows a change of this field. It does not show heartbeats, which change all the
// time, nor the name, which identifies the node.
bool is_compared(const FieldDescriptor& field) {
  return field.name() != "name" && field.name() != "not_ready_since";
}

std::string changes_of(const v1::NodeSpec& before, const v1::NodeSpec& after) {
  std::string text;
  const auto* descriptor = v1::NodeSpec::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor& field = *descriptor->field(i);
    const std::string was = field_text(before, field);
    const std::string is = field_text(after, field);
    if (!is_compared(field) || was == is) continue;
    text += (text.empty() ? "" : ", ") + field.name() + " " + (was.empty() ? "none" : was) +
            " -> " + (is.empty() ? "none" : is);
  }
  return text;
}

std::string gpus_of(const v1::NodeSpec& node) {
  return node.gpus() == 0 ? "no GPUs" : std::to_string(node.gpus()) + " x " + node.product();
}

}  // namespace

std::string ImportDiff::summary() const {
  return std::to_string(added) + " added, " + std::to_string(changed) + " changed, " +
         std::to_string(removed) + " removed";
}

ImportDiff import_diff(const std::vector<v1::NodeSpec>& before,
                       const std::vector<v1::NodeSpec>& after) {
  std::map<std::string, std::pair<const v1::NodeSpec*, const v1::NodeSpec*>> nodes;
  for (const v1::NodeSpec& node : before) nodes[node.name()].first = &node;
  for (const v1::NodeSpec& node : after) nodes[node.name()].second = &node;
  ImportDiff diff;
  for (const auto& [name, node] : nodes) {
    const auto& [was, is] = node;
    if (was == nullptr) {
      ++diff.added;
      diff.lines.push_back({'+', "node " + name + ": " + gpus_of(*is)});
    } else if (is == nullptr) {
      ++diff.removed;
      diff.lines.push_back({'-', "node " + name + ": " + gpus_of(*was)});
    } else if (const std::string changes = changes_of(*was, *is); !changes.empty()) {
      ++diff.changed;
      diff.lines.push_back({'~', "node " + name + ": " + changes});
    }
  }
  return diff;
}

ImportDiff import_diff(Session& session, const v1::ImportNodesRequest& request) {
  std::vector<v1::NodeSpec> before;
  v1::ListNodesRequest list;
  list.set_cluster(request.cluster());
  try {
    const auto answer = all_pages<v1::ListNodesResponse>(
        session, "ClusterService/ListNodes", list, 0, [](auto& a) { return a.mutable_nodes(); });
    for (const v1::Node& node : answer.nodes()) before.push_back(node.spec());
  } catch (const Failure& failure) {
    if (failure.exit_code == kExitUnreachable) throw;  // the import reports any other error
  }
  return import_diff(before, {request.nodes().begin(), request.nodes().end()});
}

void print_import_diff(Session& session, const ImportDiff& diff) {
  std::size_t shown = 0;
  for (const DiffLine& line : diff.lines) {
    if (++shown > kLinesShown) {
      session.out() << "... and " << diff.lines.size() - kLinesShown << " more lines\n";
      return;
    }
    const Colour colour = line.sign == '-'   ? Colour::kRed
                          : line.sign == '+' ? Colour::kGreen
                                             : Colour::kYellow;
    const std::string text = std::string(1, line.sign) + " " + printable(line.text);
    session.out() << session.paint(colour, text) << '\n';
  }
}

}  // namespace subak::cli
