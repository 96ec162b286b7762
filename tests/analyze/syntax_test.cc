#include "analyze/syntax.h"

#include <gtest/gtest.h>

namespace tenon::analyze {
namespace {

const Node* Only(const SourceFile& file) { return file.root()->kids.at(0); }

TEST(Syntax, StringsAreJoinedAndUnescaped) {
  SourceFile file("f.py", "x = 'a\\n' r'\\n' \"it's\"\n");
  ASSERT_EQ(Only(file)->kind, Kind::kAssign);
  EXPECT_EQ(Only(file)->kids[0]->text, "a\n\\nit's");
}

TEST(Syntax, FormattedStringsKeepTheirPieces) {
  SourceFile file("f.py", "x = f\"{a}.{b!r}{{c}}\"\n");
  const Node* format = Only(file)->kids[0];
  ASSERT_EQ(format->kind, Kind::kFormat);
  ASSERT_EQ(format->kids.size(), 4u);
  EXPECT_EQ(format->kids[2]->text, "r");
  EXPECT_EQ(format->kids[3]->text, "{c}");
}

TEST(Syntax, SlicesKeepTheirPlaces) {
  SourceFile file("f.py", "x[:, ::2, 1:]\n");
  const Node* index = Only(file)->kids[0]->kids[1];
  ASSERT_EQ(index->kids.size(), 3u);
  EXPECT_EQ(index->kids[0]->kids[0], nullptr);
  EXPECT_EQ(index->kids[1]->kids[2]->integer, 2);
  EXPECT_EQ(index->kids[2]->kids[0]->integer, 1);
}

TEST(Syntax, ClassLineIsThatOfTheKeyword) {
  SourceFile file("f.py", "\n@decorate\nclass C(A, metaclass=M):\n    pass\n");
  EXPECT_EQ(Only(file)->line, 3u);
}

TEST(Syntax, AnErrorHasItsPositionAndTheRestStaysUsable) {
  SourceFile file("f.py", "def good():\n    return 1\n\nx = = 3\n\nclass Later:\n    pass\n");
  ASSERT_FALSE(file.problems().empty());
  EXPECT_EQ(file.problems()[0].line, 4);
  EXPECT_EQ(file.root()->kids.front()->text, "good");
  EXPECT_EQ(file.root()->kids.back()->text, "Later");
}

}  // namespace
}  // namespace tenon::analyze
