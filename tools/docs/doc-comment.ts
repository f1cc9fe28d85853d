import type { Node, SourceFile as Tree } from 'typescript/unstable/ast'

/** A parsed doc comment. All texts are Markdown. */
export interface DocComment {
  readonly text: string
  readonly params: readonly { readonly name: string; readonly text: string }[]
  readonly returns: string | null
  readonly throws: string | null
}

/** Parses the doc comment directly above a declaration. */
export function docCommentOf(tree: Tree, node: Node): DocComment {
  const comment = node.jsDoc?.at(-1)
  const lines = comment === undefined ? [] : linesOf(tree.text.slice(comment.pos, comment.end))
  const [text = '', ...tags] = lines.join('\n').split(/^@/m)
  const tagged = (tag: string) =>
    tags.filter((each) => each.startsWith(`${tag} `)).map((each) => flowing(each.slice(tag.length)))
  return {
    text: text.trim(),
    params: tagged('param').map((each) => {
      const [, name = '', about = ''] = /^(\S+) (.*)$/s.exec(each) ?? []
      return { name, text: about }
    }),
    returns: tagged('returns')[0] ?? null,
    throws: tagged('throws')[0] ?? null,
  }
}

function linesOf(comment: string): string[] {
  const body = comment
    .trim()
    .replace(/^\/\*\*/, '')
    .replace(/\*\/$/, '')
  return body.split('\n').map((line) => line.replace(/^\s*(?:\* ?)?/, '').trimEnd())
}

function flowing(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
