package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubejson "sigs.k8s.io/json"
)

// controllerRequest describes one cluster and what happens to it.
type controllerRequest struct {
	envelope
	WorkloadResourceClaims bool              `json:"workloadResourceClaims"`
	HorizonSeconds         float64           `json:"horizonSeconds"`
	IgnoreUnknownFields    bool              `json:"ignoreUnknownFields"`
	TerminationSeconds     float64           `json:"terminationSeconds"`
	Pods                   []json.RawMessage `json:"pods"`
	Claims                 []json.RawMessage `json:"claims"`
	Slices                 []json.RawMessage `json:"slices"`
	Rules                  []json.RawMessage `json:"rules"`
	RulesAfterSync         bool              `json:"rulesAfterSync"`
	AfterSync              []string          `json:"afterSync"`
}

// decodeRequest refuses unknown fields: a misspelt option that is silently
// ignored would make a comparison look at something else than intended.
func decodeRequest(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decode request: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode request: more than one value in the line")
	}
	return nil
}

// apiObject is a Kubernetes object with its metadata.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// newObjectOfKind returns an empty object and the API version that the request
// may use for it. Rules are given as v1 whatever the version of the controller.
func newObjectOfKind(kind string) (apiObject, string, error) {
	resourceVersion := resourceapi.SchemeGroupVersion.String()
	switch kind {
	case "Pod":
		return &corev1.Pod{}, "v1", nil
	case "ResourceClaim":
		return &resourceapi.ResourceClaim{}, resourceVersion, nil
	case "ResourceSlice":
		return &resourceapi.ResourceSlice{}, resourceVersion, nil
	case "DeviceTaintRule":
		return &taintRule{}, resourceVersion, nil
	default:
		return nil, "", fmt.Errorf("unsupported kind %q", kind)
	}
}

// decodeObject decodes one object. Kind and API version may be left out.
func decodeObject(raw json.RawMessage, kind string, ignoreUnknown bool) (apiObject, error) {
	var typeMeta metav1.TypeMeta
	if err := json.Unmarshal(raw, &typeMeta); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	object, apiVersion, err := newObjectOfKind(kind)
	if err != nil {
		return nil, err
	}
	if typeMeta.Kind != "" && typeMeta.Kind != kind {
		return nil, fmt.Errorf("kind is %q, expected %q", typeMeta.Kind, kind)
	}
	if typeMeta.APIVersion != "" && typeMeta.APIVersion != apiVersion {
		return nil, fmt.Errorf("%s: apiVersion is %q, expected %q", kind, typeMeta.APIVersion, apiVersion)
	}
	if err := decodeStrictly(raw, object, ignoreUnknown); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	// The type already says what it is, and for rules it may be another version.
	object.GetObjectKind().SetGroupVersionKind(gvkOf(object))
	return object, nil
}

// decodeStrictly refuses unknown and duplicate fields, as the API server does
// with strict field validation.
func decodeStrictly(raw json.RawMessage, into any, ignoreUnknown bool) error {
	strictErrors, err := kubejson.UnmarshalStrict(raw, into)
	if err != nil {
		return err
	}
	if ignoreUnknown {
		return nil
	}
	return errors.Join(strictErrors...)
}

func decodeObjects(raws []json.RawMessage, kind string, ignoreUnknown bool) ([]apiObject, error) {
	objects := make([]apiObject, 0, len(raws))
	for index, raw := range raws {
		object, err := decodeObject(raw, kind, ignoreUnknown)
		if err != nil {
			return nil, fmt.Errorf("object #%d: %w", index, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
