package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
)

type validateRequest struct {
	envelope
	Rule json.RawMessage `json:"rule"`
}

type validateAnswer struct {
	ID     json.RawMessage `json:"id"`
	Errors []string        `json:"errors"`
}

// answerValidate does what the API server does when a rule gets created:
// defaulting, conversion, the strategy of the registry with its handwritten
// and declarative validation.
func answerValidate(id json.RawMessage, line []byte) (any, error) {
	var request validateRequest
	if err := decodeRequest(line, &request); err != nil {
		return nil, err
	}
	if request.Rule == nil {
		return nil, errors.New("rule is missing")
	}
	decoded, err := decodeObject(request.Rule, "DeviceTaintRule", false)
	if err != nil {
		return nil, err
	}
	rule, err := toInternalRule(decoded)
	if err != nil {
		return nil, err
	}
	messages, err := validateForCreate(rule)
	if err != nil {
		return nil, err
	}
	return validateAnswer{ID: id, Errors: messages}, nil
}

func toInternalRule(versioned runtime.Object) (*resource.DeviceTaintRule, error) {
	legacyscheme.Scheme.Default(versioned)
	internal, err := legacyscheme.Scheme.ConvertToVersion(versioned, resource.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("convert rule: %w", err)
	}
	return internal.(*resource.DeviceTaintRule), nil
}

func validateForCreate(rule *resource.DeviceTaintRule) ([]string, error) {
	ctx := request.WithNamespace(context.Background(), "")
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true,
		Verb:              "create",
		APIGroup:          ruleGroupVersion.Group,
		APIVersion:        ruleGroupVersion.Version,
		Resource:          "devicetaintrules",
	})
	strategy := devicetaintrule.Strategy
	rest.FillObjectMetaSystemFields(rule)
	if rule.GenerateName != "" && rule.Name == "" {
		rule.Name = strategy.GenerateName(rule.GenerateName)
	}
	err := rest.BeforeCreate(strategy, ctx, rule)
	if err == nil {
		return []string{}, nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil, err
	}
	return causes(status), nil
}

func causes(status apierrors.APIStatus) []string {
	messages := []string{}
	for _, cause := range status.Status().Details.Causes {
		messages = append(messages, cause.Field+": "+cause.Message)
	}
	return messages
}
