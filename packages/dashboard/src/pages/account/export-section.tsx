import { get } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { saveFile } from '../../components/save-file.ts'
import { SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'

/** Downloads data data that the service stores about the owner. */
export function ExportSection() {
  const download = useAction(async () => {
    const data = await get<object>('/api/account/export')
    saveFile('my-data.json', JSON.stringify(data, null, 2), 'application/json')
  })
  return (
    <SheetSection
      title="Your data"
      lead="Everything that is kept of you and your agents, as one JSON file: what people and programs can read. There are no secrets in it."
    >
      <Button size="small" pending={download.pending} onClick={download.run} className="self-start">
        Download all of it
      </Button>
      <ErrorNote error={download.error} />
    </SheetSection>
  )
}
