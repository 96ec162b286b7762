#include "report/html_parts.h"

namespace tenon::report {

const std::string_view kStyle = R"css(
:root {
  --paper: #fbfaf7; --ink: #23211d; --faint: #6f6a60; --line: #ddd8cc; --card: #ffffff;
  --accent: #9a4f1c; --before: #d9b38c; --after: #3f7d6b;
  --norm: #dbe8f4; --matmul: #e8e0f2; --attention: #f6e3cf; --activation: #dff0df;
  --position: #f4ecc2; --collective: #f3d9dd; --vector: #ebe9e3; --opaque: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #1c1b19; --ink: #ece8df; --faint: #a29c8f; --line: #3b3832; --card: #26241f;
    --accent: #e09a62; --before: #7d5f43; --after: #5fae98;
    --norm: #263a4d; --matmul: #372d49; --attention: #4b3824; --activation: #26422a;
    --position: #433d1d; --collective: #4a2a30; --vector: #35332e; --opaque: #26241f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 40px 0 12px; padding-top: 12px; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 20px 0 8px; }
p { margin: 8px 0; }
.faint { color: var(--faint); }
code, pre, .code { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
code { overflow-wrap: anywhere; }
a { color: var(--accent); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: 10px;
  margin: 20px 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 10px 12px; }
.card b { display: block; font-size: 1.4rem; line-height: 1.2; }
.card span { color: var(--faint); font-size: 0.85rem; }
.scroll { overflow-x: auto; }
.scroll table { min-width: 560px; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th { text-align: left; color: var(--faint); font-weight: 500; }
th, td { padding: 7px 10px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.variant { display: grid; grid-template-columns: 360px minmax(0, 1fr); gap: 32px;
  align-items: start; }
@media (max-width: 820px) { .variant { grid-template-columns: minmax(0, 1fr); } }
svg { display: block; width: 100%; max-width: 360px; height: auto; margin: 0 auto; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .small { fill: var(--faint); font-size: 10px; }
svg .flow { stroke: var(--faint); fill: none; }
svg .skip { stroke: var(--accent); fill: none; opacity: 0.55; }
svg .mark { fill: var(--accent); }
svg .number { fill: var(--paper); font-size: 10px; text-anchor: middle; }
svg rect.box { stroke: var(--line); }
.norm { fill: var(--norm); } .matmul { fill: var(--matmul); } .attention { fill: var(--attention); }
.activation { fill: var(--activation); } .position { fill: var(--position); }
.collective { fill: var(--collective); } .vector { fill: var(--vector); }
svg rect.opaque { fill: var(--opaque); stroke-dasharray: 4 3; stroke: var(--accent); }
.bars { display: grid; grid-template-columns: minmax(90px, max-content) minmax(0, 1fr) max-content;
  gap: 3px 10px; align-items: center; font-size: 0.85rem; }
.bars .name { overflow-wrap: anywhere; }
.track { display: block; height: 16px; position: relative; }
.bar { position: absolute; left: 0; height: 100%; min-width: 1px; border-radius: 2px; }
.before { background: var(--before); } .after { background: var(--after); }
.key i { display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 12px; border-radius: 2px;
  vertical-align: -1px; }
.opportunity { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 4px 16px 14px; margin: 16px 0; }
.status { border: 1px solid var(--accent); color: var(--accent); border-radius: 10px;
  padding: 0 8px; font-size: 0.8rem; white-space: nowrap; }
pre { background: var(--paper); border: 1px solid var(--line); border-radius: 6px;
  padding: 10px 12px; overflow-x: auto; margin: 8px 0; }
pre .n { color: var(--faint); user-select: none; }
pre .hit { background: var(--norm); display: inline-block; min-width: 100%; }
summary { cursor: pointer; color: var(--accent); }
@media print { details { display: none; } .variant { grid-template-columns: 1fr; } }
)css";

}  // namespace tenon::report
