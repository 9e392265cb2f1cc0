// SPDX-License-Identifier: Apache-2.0
#include "cli/render/policy_text.h"

#include <nlohmann/json.hpp>

#include "cli/render/json_text.h"
#include "cli/render/text.h"

namespace routelens {
namespace {

using Json = nlohmann::ordered_json;

std::string Document(const Json& value) {
  return Dump(value, 2) + "\n";
}

Json ToJson(const Route& route) {
  return {{"subject", route.subject.text},
          {"endpoint_id", route.endpoint_id},
          {"host", route.host},
          {"ports", route.ports},
          {"path", route.path},
          {"credentialed", route.credentialed}};
}

Json WarningsOf(const Policy& policy) {
  Json warnings = Json::array();
  for (const PolicyWarning& warning : policy.warnings) {
    warnings.push_back({{"where", warning.where}, {"what", warning.what}});
  }
  return warnings;
}

std::string Plural(size_t n, std::string_view one) {
  return std::to_string(n) + " " + std::string(one) + (n == 1 ? "" : "s");
}

}  // namespace

std::string RenderRoutesText(const Policy& policy) {
  std::string out;
  for (const Route& route : policy.routes) {
    out += Paragraph("", "    ",
                     FormatAuthority(route.host, 0) + ":" + FormatPorts(route.ports) + " " +
                         Printable(route.path) + (route.credentialed ? " (credentialed)" : ""));
    out += "    " + route.subject.text + "\n";
  }
  if (out.empty())
    out = "no MCP routes\n";
  return out;
}

std::string RenderRoutesJson(const Policy& policy) {
  Json routes = Json::array();
  for (const Route& route : policy.routes) routes.push_back(ToJson(route));
  return Document({{"routes", std::move(routes)}, {"warnings", WarningsOf(policy)}});
}

std::string RenderCheckText(const Policy& policy, const std::string& source) {
  std::string out;
  for (const PolicyWarning& warning : policy.warnings) {
    out +=
        Paragraph("warning: ", "    ", Printable(warning.where) + ": " + Printable(warning.what));
  }
  out += Printable(source) + ": " + Plural(policy.endpoints.size(), "endpoint") + ", " +
         Plural(policy.routes.size(), "MCP route") + ", " +
         Plural(policy.warnings.size(), "warning") + "\n";
  return out;
}

std::string RenderCheckJson(const Policy& policy) {
  return Document({{"endpoints", policy.endpoints.size()},
                   {"routes", policy.routes.size()},
                   {"warnings", WarningsOf(policy)}});
}

std::string RenderSubjectText(const Route& route) {
  return route.subject.text + "\n";
}

std::string RenderSubjectJson(const Route& route) {
  return Document(ToJson(route));
}

}  // namespace routelens
