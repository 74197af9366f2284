#include "cli/top/screen.h"

#include <curses.h>

#include <algorithm>
#include <clocale>
#include <cstdio>

namespace tally::cli {

std::optional<Screen> Screen::open() {
  std::setlocale(LC_CTYPE, "");  // else names beyond ASCII would be shown as escapes
  if (!newterm(nullptr, stdout, stdin)) return std::nullopt;
  raw();  // Ctrl-C is a key
  noecho();
  keypad(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  return Screen();
}

Screen::~Screen() {
  if (open_) endwin();
}

size_t Screen::width() const { return static_cast<size_t>(std::max(getmaxx(stdscr), 1)); }
size_t Screen::height() const { return static_cast<size_t>(std::max(getmaxy(stdscr), 1)); }

void Screen::draw(const std::vector<TopLine>& lines) {
  erase();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].marked) attron(A_REVERSE);
    mvaddstr(static_cast<int>(i), 0, lines[i].text.c_str());
    if (lines[i].marked) attroff(A_REVERSE);
  }
  refresh();
}

std::optional<int> Screen::key(int milliseconds) {
  timeout(milliseconds);
  const int key = getch();
  switch (key) {
    case ERR:
    case KEY_RESIZE:
      return std::nullopt;
    case KEY_UP:
      return static_cast<int>(TopKey::Up);
    case KEY_DOWN:
      return static_cast<int>(TopKey::Down);
    case KEY_LEFT:
      return static_cast<int>(TopKey::Left);
    case KEY_RIGHT:
      return static_cast<int>(TopKey::Right);
    case KEY_PPAGE:
      return static_cast<int>(TopKey::PageUp);
    case KEY_NPAGE:
      return static_cast<int>(TopKey::PageDown);
    case KEY_HOME:
      return static_cast<int>(TopKey::Home);
    case KEY_END:
      return static_cast<int>(TopKey::End);
    case KEY_BACKSPACE:
      return '\b';
    case KEY_ENTER:
      return '\n';
    default:
      return key;
  }
}

}  // namespace tally::cli
