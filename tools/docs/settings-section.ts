/** The table of settings in the README, as docs/ has it: links are as they have to be there. */
export function settingsTable(readme: string): string {
  const [table] = /(?:^\|.*\n)+/m.exec(readme.slice(readme.indexOf('## Settings'))) ?? []
  if (table === undefined) throw new Error('The README has no table of settings.')
  return table.trim().replaceAll(/\[docs\/([\w-]+\.md)\]\(docs\/([\w-]+\.md)\)/g, '[$1]($2)')
}
