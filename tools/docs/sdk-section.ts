import {
  isClassDeclaration,
  isFunctionDeclaration,
  isPrivateIdentifier,
  type Node,
  type SourceFile as Tree,
} from 'typescript/unstable/ast'
import { type DocComment, docCommentOf } from './doc-comment.ts'
import { type Export, sdkEntries } from './sdk-sources.ts'
import { SDK_PAGES } from './sdk-tasks.ts'

/** A piece of the reference: a function, a class without its members, a member, or a type. */
interface Piece {
  readonly name: string
  /** The class of a member. */
  readonly owner: string | null
  readonly text: string
}

/**
 * The SDK reference by the names of its pages, generated from its sources: the declaration and doc comment of each export.
 * @throws Error if a function or class is in no task, or a task names something that does not exist
 */
export function sdkReference(root: string): ReadonlyMap<string, string> {
  const pieces = sdkEntries(root).flatMap(({ specifier, exports }) =>
    exports.flatMap((each) => piecesOf(each, specifier)),
  )
  const byName = new Map(pieces.map((each) => [each.name, each]))
  const tasks = SDK_PAGES.flatMap((page) =>
    page.tasks.map((task) => ({ ...task, page: page.name })),
  )
  const taken = new Set(tasks.flatMap(({ names }) => names))
  for (const name of taken) {
    if (!byName.has(name))
      throw new Error(`tools/docs/sdk-tasks.ts: the SDK does not export ${name}`)
  }
  const sections = tasks.map(({ page, title, intro, names }) => {
    const more = pieces.filter(
      ({ name, owner }) => owner !== null && names.includes(owner) && !taken.has(name),
    )
    const listed = names.map((name) => byName.get(name) as Piece)
    for (const { name } of more) taken.add(name)
    const parts = [`## ${title}`, intro, ...[...listed, ...more].map(({ text }) => text)]
    return { page, text: parts.join('\n\n') }
  })
  const rest = pieces.filter(({ name }) => !taken.has(name))
  const homeless = rest.find(({ name }) => /^[a-z]/.test(name))
  if (homeless !== undefined)
    throw new Error(`Add ${homeless.name} to a task in tools/docs/sdk-tasks.ts`)
  const others = ['## Other types', ...rest.map(({ text }) => text)].join('\n\n')
  const last = SDK_PAGES.at(-1)?.name as string
  const all = rest.length > 0 ? [...sections, { page: last, text: others }] : sections
  return new Map(
    SDK_PAGES.map(({ name }) => [
      name,
      all.flatMap(({ page, text }) => (page === name ? [text] : [])).join('\n\n'),
    ]),
  )
}

function piecesOf({ name, node, tree }: Export, specifier: string): Piece[] {
  const heading = `### ${name}`
  const from = `From \`${specifier}\`.`
  const doc = docText(docCommentOf(tree, node))
  const piece = (text: readonly string[]): Piece => ({ name, owner: null, text: joined(text) })
  if (isFunctionDeclaration(node)) return [piece([heading, from, code(signature(tree, node)), doc])]
  if (!isClassDeclaration(node)) return [piece([heading, from, doc, typeText(tree, node)])]
  const members = node.members.filter((each) => isPublic(each))
  return [
    piece([heading, from, doc]),
    ...members.map((each): Piece => {
      const member = `${name}${titleOf(each)}`
      const about = docText(docCommentOf(tree, each))
      const text = joined([`### ${member}`, code(signature(tree, each)), about])
      return { name: member, owner: name, text }
    }),
  ]
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n')
}

/** Types are shown completely, with members and their comments. */
function typeText(tree: Tree, node: Node): string {
  const text = tree.text.slice(node.getStart(tree), node.end).replace(/^export /, '')
  return /Default: `(?:svc|ServiceID)`/.test(text) ? keepNames(code(text)) : code(text)
}

function isPublic(member: Node & { readonly name?: Node | undefined }): boolean {
  return member.name === undefined || !isPrivateIdentifier(member.name)
}

function titleOf(
  member: Node & { readonly name?: { readonly text?: string } | undefined },
): string {
  const name = member.name?.text
  return name === undefined ? ': constructor' : `.${name}`
}

/** A declaration without its body. */
function signature(tree: Tree, node: Node & { readonly body?: Node | undefined }): string {
  const whole = tree.text.slice(node.getStart(tree), node.end)
  const { body } = node
  if (!isClassDeclaration(node) && body !== undefined) {
    return whole
      .slice(0, body.getStart(tree) - node.getStart(tree))
      .replace(/^export |^async /g, '')
      .trim()
  }
  return whole.replace(/ = (?:async )?\(.*$/s, '').trim()
}

function docText({ text, params, returns, throws }: DocComment): string {
  const list = [
    ...params.map((each) => `- \`${each.name}\`: ${each.text}`),
    ...(returns === null ? [] : [`- Returns ${returns}`]),
    ...(throws === null ? [] : [`- Throws ${throws}`]),
  ]
  const all = [text, list.join('\n')].filter((part) => part !== '').join('\n\n')
  return escapeHtml(all)
}

function code(text: string): string {
  // Indents members like their class.
  const lines = text.split('\n')
  const indent = /^ */.exec(lines.at(-1) ?? '')?.[0] ?? ''
  const flush = lines.map((line) => line.replace(indent, '')).join('\n')
  return `\`\`\`ts\n${flush}\n\`\`\``
}

/** Defaults are shown as they are even if a deployment uses other names. */
function keepNames(text: string): string {
  return `<!-- keep -->\n${text}\n<!-- /keep -->`
}

/** Escapes text that looks like HTML. Code spans stay as they are. */
function escapeHtml(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;')))
    .join('')
}
