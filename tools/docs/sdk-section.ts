import {
  isClassDeclaration,
  isFunctionDeclaration,
  isPrivateIdentifier,
  type Node,
  type SourceFile as Tree,
} from 'typescript/unstable/ast'
import { type DocComment, docCommentOf } from './doc-comment.ts'
import { type Entry, type Export, sdkEntries } from './sdk-sources.ts'

/** The SDK reference, generated from its sources: the declaration and doc comment of each export. */
export function sdkReference(root: string): string {
  return sdkEntries(root).map(entrySection).join('\n\n')
}

function entrySection({ specifier, exports }: Entry): string {
  const types = exports.filter(({ node }) => !isCallable(node))
  const callable = exports.filter(({ node }) => isCallable(node))
  return [
    ...callable.map((each) => callableSection(each, specifier)),
    ...(types.length === 0 ? [] : [`## Types of ${specifier}`, ...types.map(typeSection)]),
  ].join('\n\n')
}

function isCallable(node: Node): boolean {
  return isClassDeclaration(node) || isFunctionDeclaration(node)
}

function callableSection({ name, node, tree }: Export, specifier: string): string {
  const heading = `## ${name}\n\nFrom \`${specifier}\`.`
  const doc = docCommentOf(tree, node)
  if (!isClassDeclaration(node))
    return [heading, code(signature(tree, node)), docText(doc)].join('\n\n')
  const members = node.members.filter((each) => isPublic(each))
  return [
    heading,
    docText(doc),
    ...members.map((each) => {
      const text = [code(signature(tree, each)), docText(docCommentOf(tree, each))]
      return [`### ${name}${titleOf(each)}`, ...text].join('\n\n')
    }),
  ].join('\n\n')
}

/** Types are shown completely, with members and their comments. */
function typeSection({ name, node, tree }: Export): string {
  const text = tree.text.slice(node.getStart(tree), node.end).replace(/^export /, '')
  const declared = /Default: `(?:svc|ServiceID)`/.test(text) ? keepNames(code(text)) : code(text)
  return [`### ${name}`, docText(docCommentOf(tree, node)), declared].join('\n\n')
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
  const all = list.length === 0 ? text : `${text}\n\n${list.join('\n')}`
  return escapeHtml(all)
}

function code(text: string): string {
  // Indents members like their class.
  const lines = text.split('\n')
  const indent = /^ */.exec(lines.at(-1) ?? '')?.[0] ?? ''
  const flush = lines.map((line) => line.replace(indent, '')).join('\n')
  return `\`\`\`ts\n${flush}\n\`\`\``
}

/** Defaults are keepNames even if a deployment uses other names. */
function keepNames(text: string): string {
  return `<!-- keep -->\n${text}\n<!-- /keep -->`
}

/** Escapes text that looks like HTML. Code spans are keepNames as they are. */
function escapeHtml(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;')))
    .join('')
}
