// Renders a chart as Helm does, with the packages that Helm is made of:
//
//	render-chart <chart> <JSON of Chart.yaml> < case
//
// The case is JSON: the name of the release, and the values with the chart's defaults filled in. The answer is JSON: the files by
// their names, or the error. Not here: what the charts of this project do not use (lookup, tpl, Files, Capabilities).
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type oneCase struct {
	Release string                 `json:"release"`
	Values  map[string]interface{} `json:"values"`
}

type rendered struct {
	Files map[string]string `json:"files,omitempty"`
	Error string            `json:"error,omitempty"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: render-chart <chart> <JSON of Chart.yaml>")
	}
	var chart map[string]interface{}
	if err := json.Unmarshal([]byte(os.Args[2]), &chart); err != nil {
		log.Fatal(err)
	}
	// Templates name the fields of a chart with a capital letter.
	for name, value := range chart {
		chart[strings.ToUpper(name[:1])+name[1:]] = value
	}
	var given oneCase
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		log.Fatal(err)
	}
	files, err := render(os.Args[1], chart, given)
	answer := rendered{Files: files}
	if err != nil {
		answer = rendered{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		log.Fatal(err)
	}
}

func render(dir string, chart map[string]interface{}, given oneCase) (map[string]string, error) {
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	paths, err := filepath.Glob(filepath.Join(dir, "templates", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, err := all.New(filepath.Base(path)).Parse(string(text)); err != nil {
			return nil, err
		}
	}
	data := map[string]interface{}{
		"Values":  given.Values,
		"Chart":   chart,
		"Release": map[string]interface{}{"Name": given.Release, "Namespace": "default", "Service": "Helm"},
	}
	files := map[string]string{}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text strings.Builder
		if err := all.ExecuteTemplate(&text, name, data); err != nil {
			return nil, err
		}
		files[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return files, nil
}

// functions are Sprig's without those that read the environment, and Helm's own.
func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	known["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	known["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	known["toJson"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	known["fail"] = func(message string) (string, error) { return "", fmt.Errorf("%s", message) }
	return known
}
