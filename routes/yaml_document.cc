// SPDX-License-Identifier: Apache-2.0
#include "routes/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "routes/quoted.h"

namespace routelens {
namespace {

// Thrown inside this file only: yaml-cpp's events have no other way to stop the parser.
struct Refusal {
  int line = 0;
  std::string message;
};

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

  YamlDocument Take() { return std::move(document_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(YamlNode::Kind::kNull, mark, "", anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode& node = Add(YamlNode::Kind::kScalar, mark, tag, anchor);
    node.quoted = tag == "!" || tag == std::string(kCoreTag) + "str";
    node.text = value;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }

  void OnSequenceEnd() override { Close(); }

  void OnMapEnd() override {
    CheckKeys(*open_.back().node);
    Close();
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || !found->second.complete)
      throw Refusal{mark.line + 1, "an alias refers to a value that contains it; write it out"};
    const Extent& extent = found->second.extent;
    Count(mark, extent.nodes);
    CheckDepth(mark, extent.height);
    Attach(*found->second.node, extent);
  }

 private:
  // The size of a subtree with its aliases written out.
  struct Extent {
    size_t nodes = 1;
    size_t height = 1;
  };

  struct OpenNode {
    YamlNode* node = nullptr;
    YAML::anchor_t anchor = YAML::NullAnchor;
    Extent extent;
  };

  struct Anchored {
    const YamlNode* node = nullptr;
    bool complete = false;
    Extent extent;
  };

  YamlNode& NewNode(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    Count(mark, 1);
    CheckDepth(mark, 1);
    YamlNode& node = document_.nodes.emplace_back();
    node.kind = kind;
    node.line = mark.line + 1;
    node.foreign_tag = !tag.empty() && tag != "?" && tag != "!" && tag.rfind(kCoreTag, 0) != 0;
    return node;
  }

  YamlNode& Add(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor) {
    YamlNode& node = NewNode(kind, mark, tag);
    if (anchor != YAML::NullAnchor)
      anchors_[anchor] = {&node, true, {}};
    Attach(node, {});
    return node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    YamlNode& node = NewNode(kind, mark, tag);
    if (anchor != YAML::NullAnchor)
      anchors_[anchor] = {&node, false, {}};
    open_.push_back({&node, anchor, {}});
  }

  void Close() {
    const OpenNode closed = open_.back();
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor)
      anchors_[closed.anchor] = {closed.node, true, closed.extent};
    Attach(*closed.node, closed.extent);
  }

  void Attach(const YamlNode& node, const Extent& extent) {
    if (open_.empty()) {
      document_.root = &node;
      return;
    }
    OpenNode& parent = open_.back();
    parent.node->children.push_back(&node);
    parent.extent.nodes += extent.nodes;
    parent.extent.height = std::max(parent.extent.height, extent.height + 1);
  }

  void Count(const YAML::Mark& mark, size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > limits_.max_nodes) {
      throw Refusal{mark.line + 1, "more than " + std::to_string(limits_.max_nodes) +
                                       " values with all aliases written out; a policy needs far "
                                       "fewer: remove aliases or split it"};
    }
  }

  void CheckDepth(const YAML::Mark& mark, size_t height) {
    if (open_.size() + height > static_cast<size_t>(limits_.max_depth)) {
      throw Refusal{mark.line + 1, "nested deeper than " + std::to_string(limits_.max_depth) +
                                       " levels; a policy needs fewer than 12"};
    }
  }

  static void CheckKeys(const YamlNode& map) {
    std::vector<const YamlNode*> keys;
    keys.reserve(map.children.size() / 2);
    for (size_t i = 0; i < map.children.size(); i += 2) {
      const YamlNode* key = map.children[i];
      if (key->kind != YamlNode::Kind::kScalar) {
        throw Refusal{key->line > 0 ? key->line : map.line,
                      "a key of a map is not plain text; write a name in front of the colon"};
      }
      keys.push_back(key);
    }
    // Stable: of equal keys the first in the file stays first, whatever an alias's line says.
    std::stable_sort(keys.begin(), keys.end(),
                     [](const YamlNode* a, const YamlNode* b) { return a->text < b->text; });
    const auto twin =
        std::adjacent_find(keys.begin(), keys.end(),
                           [](const YamlNode* a, const YamlNode* b) { return a->text == b->text; });
    if (twin != keys.end()) {
      throw Refusal{(*(twin + 1))->line, "duplicate key " + Quoted((*twin)->text) +
                                             ", first on line " + std::to_string((*twin)->line) +
                                             "; keep one of them"};
    }
  }

  const YamlLimits limits_;
  YamlDocument document_;
  std::vector<OpenNode> open_;
  absl::flat_hash_map<YAML::anchor_t, Anchored> anchors_;
  size_t nodes_ = 0;
};

// Refuses a second document.
class NothingMore final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    throw Refusal{mark.line + 1,
                  "a second YAML document begins here; keep one policy in one file, and at most "
                  "one '---'"};
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}

  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}

  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}

  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}

  void OnSequenceEnd() override {}

  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}

  void OnMapEnd() override {}
};

// Length of the UTF-8 character at `i`, 0 if there is none (RFC 3629: no surrogates, no overlong
// forms, nothing above U+10FFFF).
size_t Utf8Length(std::string_view text, size_t i) {
  const auto byte = [&](size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const auto continues = [&](size_t at) { return (byte(at) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(i);
  const unsigned next = byte(i + 1);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return continues(i + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool bad = (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F);
    return !bad && continues(i + 1) && continues(i + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool bad = (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F);
    return !bad && continues(i + 1) && continues(i + 2) && continues(i + 3) ? 4 : 0;
  }
  return 0;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// What is wrong with the bytes, before any YAML is read: yaml-cpp guesses at encodings and replaces
// what it does not understand.
std::optional<Refusal> CheckBytes(std::string_view text) {
  using std::string_view_literals::operator""sv;
  if (StartsWith(text, "\xFF\xFE") || StartsWith(text, "\xFE\xFF") ||
      StartsWith(text, "\0\0\xFE\xFF"sv)) {
    return Refusal{1, "begins with the byte order mark of UTF-16 or UTF-32; save it as UTF-8"};
  }
  int line = 1;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n')
      ++line;
    if (byte == 0)
      return Refusal{line, "contains a NUL byte; a policy is UTF-8 text"};
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')
      return Refusal{line, "contains a control character; remove it"};
    const size_t length = Utf8Length(text, i);
    if (length == 0)
      return Refusal{line, "contains bytes that are not UTF-8; save it as UTF-8"};
    i += length;
  }
  return std::nullopt;
}

}  // namespace

absl::Status YamlError(std::string_view source, int line, const std::string& message) {
  std::string text(source);
  if (line > 0)
    text += ":" + std::to_string(line);
  return absl::InvalidArgumentError(text + ": " + message);
}

absl::StatusOr<YamlDocument> ParseYaml(std::string_view text, std::string_view source,
                                       const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return YamlError(source, 0,
                     "larger than " + std::to_string(limits.max_bytes) +
                         " bytes; split it, or check that it is the policy");
  }
  constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
  if (StartsWith(text, kUtf8Mark))
    text.remove_prefix(kUtf8Mark.size());
  if (const std::optional<Refusal> refusal = CheckBytes(text))
    return YamlError(source, refusal->line, refusal->message);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits);
    if (!parser.HandleNextDocument(builder))
      return YamlDocument{};
    NothingMore nothing_more;
    parser.HandleNextDocument(nothing_more);
    return builder.Take();
  } catch (const Refusal& refusal) {
    return YamlError(source, refusal.line, refusal.message);
  } catch (const YAML::Exception& error) {
    return YamlError(source, error.mark.is_null() ? 0 : error.mark.line + 1,
                     "not valid YAML: " + Escaped(error.msg));
  }
}

}  // namespace routelens
