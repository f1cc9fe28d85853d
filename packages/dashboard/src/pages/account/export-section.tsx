import { get } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { Clause } from '../../parts/sheet.tsx'
import { useAction } from '../../parts/use-action.ts'

/** Everything that the service keeps of the owner, to take along. */
export function ExportSection() {
  const take = useAction(async () => {
    const all = await get<object>('/api/account/export')
    saveFile('my-data.json', JSON.stringify(all, null, 2), 'application/json')
  })
  return (
    <Clause
      title="Your data"
      lead="Everything that is kept of you and your agents, as one JSON file: what people and programs can read. There are no secrets in it."
    >
      <Button size="small" pending={take.pending} onClick={take.run} className="self-start">
        Download all of it
      </Button>
      <ErrorNote error={take.error} />
    </Clause>
  )
}
