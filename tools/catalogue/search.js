// Search by name and text over `names`, of names.js: arrow keys choose, Enter opens, / begins. An address
// with ?q=WORDS has searched.
const box = document.querySelector('.search');
const input = box.querySelector('input');
const list = box.querySelector('ol');
const root = document.body.dataset.root;
const MOST = 30;
box.hidden = false;

// Smaller is better; 0 where the words are not there.
function rank(entry, words) {
  const name = entry[0].toLowerCase();
  const last = name.slice(name.lastIndexOf('.') + 1);
  let sum = 0;
  for (const word of words) {
    if (name === word || last === word) sum += 1;
    else if (last.startsWith(word)) sum += 2;
    else if (name.includes(word)) sum += 4;
    else if (entry[3].toLowerCase().includes(word)) sum += 9;
    else return 0;
  }
  return sum + name.length / 1000;
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.replaceChildren();
  if (words.length === 0) return;
  const found = names.map(entry => [rank(entry, words), entry]).filter(pair => pair[0] > 0);
  found.sort((a, b) => a[0] - b[0]);
  for (const [, [name, kind, file, text]] of found.slice(0, MOST)) {
    const item = list.appendChild(document.createElement('li'));
    const link = item.appendChild(document.createElement('a'));
    link.href = root + file;
    link.textContent = name;
    link.appendChild(document.createElement('small')).textContent = kind.slice(0, -1) + (text ? ': ' + text : '');
  }
  if (found.length === 0) list.appendChild(document.createElement('li')).textContent = 'nothing found';
}

function move(by) {
  const items = [...list.querySelectorAll('li')];
  const at = items.findIndex(item => item.classList.contains('on'));
  if (at >= 0) items[at].classList.remove('on');
  const next = items[Math.min(Math.max(at + by, 0), items.length - 1)];
  if (next) { next.classList.add('on'); next.scrollIntoView({block: 'nearest'}); }
}

input.addEventListener('input', show);
input.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') { move(1); event.preventDefault(); }
  if (event.key === 'ArrowUp') { move(-1); event.preventDefault(); }
  if (event.key === 'Escape') { input.value = ''; show(); }
  if (event.key === 'Enter') (list.querySelector('li.on a') || list.querySelector('a'))?.click();
});
const asked = new URLSearchParams(location.search).get('q');
if (asked) { input.value = asked; show(); }
document.addEventListener('keydown', event => {
  if (event.key === '/' && document.activeElement !== input) { input.focus(); event.preventDefault(); }
});
