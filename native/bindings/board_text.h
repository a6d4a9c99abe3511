// Boards as text, for people who look at an object at Python's prompt.
#pragma once

#include <array>
#include <string>

namespace penumbra {

using BoardLetters = std::array<char, 64>;  // a1 first, in real squares; as in a FEN, '.' for empty and '?' for unknown

// Ranks from 8 down to 1, and the files below.
inline std::string board_text(const BoardLetters& letters) {
  std::string text;
  for (int rank = 7; rank >= 0; --rank) {
    text += static_cast<char>('1' + rank);
    for (int file = 0; file < 8; ++file) {
      text += ' ';
      text += letters[static_cast<std::size_t>(rank * 8 + file)];
    }
    text += '\n';
  }
  return text + "  a b c d e f g h";
}

// The letter of a content (0 empty, 1..6 own P N B R Q K, 7..12 opposing) in the eyes of White or Black.
inline char content_letter(int content, bool white) {
  return white ? ".PNBRQKpnbrqk"[content] : ".pnbrqkPNBRQK"[content];
}

}  // namespace penumbra
